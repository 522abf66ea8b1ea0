/* Proves: a function that the table does not know touches all that it can know of, and may unlock it; library memory that
 * several calls return is written by each. */
// RUN: cd %t.dir && %clang -c %root/tests/races/Inputs/unknown-function-2.c -o 2.o && %python %root/tests/races/check.py %s -- 2.o
#include <pthread.h>
#include <pwd.h>
#include <stdio.h>

int known_to_it;
static int not_known;
pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t own = PTHREAD_MUTEX_INITIALIZER;
void touch(void);

static void *run(void *arg) {
    pthread_mutex_lock(&lock);
    known_to_it++; // RACE a
    touch();       // RACE a* b
    known_to_it++; // RACE a*
    pthread_mutex_lock(&own);
    not_known++;
    pthread_mutex_unlock(&own);
    struct passwd *p = getpwuid(0); // RACE a b*
    if (p->pw_uid) puts("changed"); // RACE b MAY
    return arg;
}

int main(void) {
    pthread_t t[2];
    for (int i = 0; i < 2; i++) pthread_create(&t[i], NULL, run, NULL);
    for (int i = 0; i < 2; i++) pthread_join(t[i], NULL);
    return 0;
}
