/* Proves: libraries may have threads before main begins, and these may call what they find by name. */
// RUN: cd %t.dir && %python %root/tests/races/check.py %s -- -rdynamic
static int count;

void hook(void) {
    count++; // RACE a*
}

int main(void) {
    count = 1; // RACE a
    return 0;
}
