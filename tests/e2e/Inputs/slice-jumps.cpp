// Ways out of functions that are no returns: an exception, and longjmp. The status depends on them, and on what made them happen.
#include <csetjmp>
#include <cstdlib>
#include <stdexcept>
#include <thread>

static int given, noise, status;
static jmp_buf back;

static void fails(int n) {
    noise++;                                                // out
    if (n > 3) throw std::runtime_error("too many");        // in
}

static void jumps(int n) {
    noise++;                                                // out
    if (n == 5) longjmp(back, 1);                           // in
}

int main() {
    std::thread([] {
        given = 5;                                          // in
        noise = 1;                                          // out
    }).join();
    try {
        fails(given);                                       // in
        noise += 2;                                         // out
    } catch (...) {
        status += 3;                                        // in
    }
    if (setjmp(back) == 0) {                                // in
        jumps(given);                                       // in
        noise += 2;                                         // out
    } else
        status += 4;                                        // in
    return status;                                          // in
}
