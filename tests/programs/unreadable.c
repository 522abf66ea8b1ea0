/* Proves: strings that end where memory ends, or that are not there at all, are looked at by the runtime without a fault of its own: those that a
 * function need not read to their end are well, the others fault in that function, and a handler of the program's sees it. Also of memory that
 * becomes unreadable. */
// RUN: %rr %s %t
// FLAGS: -fno-builtin
#define _GNU_SOURCE
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

static sigjmp_buf back;
static int last;
static void on_fault(int sig) {
    last = sig;
    siglongjmp(back, 1);
}

static size_t guarded(const char *s) {
    last = 0;
    if (sigsetjmp(back, 1)) return 0;
    return strlen(s);
}

int main(void) {
    struct sigaction a = {.sa_handler = on_fault};
    sigaction(SIGSEGV, &a, NULL);
    char *p = mmap(NULL, 3 * 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    munmap(p + 8192, 4096);
    char *end = p + 8192;
    memset(p, 'x', 8192);
    /* No NUL before the end: only so many bytes may be read. */
    for (int n = 1; n < 70; n++) printf("%d", strncmp(end - n, "xxxxxxxx", (size_t)n > 8 ? 8 : (size_t)n) + (int)strnlen(end - n, (size_t)n) - n);
    printf(" %.*s\n", 7, end - 7);
    for (int n = 1; n < 140; n += 23) {
        end[-1] = 0;
        size_t whole = guarded(end - n);
        end[-1] = 'x';
        size_t none = guarded(end - n);
        printf("%zu %zu %d\n", whole, none, last);
    }
    strcpy(p, "short");
    printf("%zu %d\n", guarded(p), last);
    mprotect(p, 4096, PROT_NONE);
    size_t n = guarded(p);
    printf("%zu %d\n", n, last);
    mprotect(p, 4096, PROT_READ);
    n = guarded(p);
    printf("%zu %d\n", n, last);
    n = guarded((const char *)8);
    printf("%zu %d\n", n, last);
    n = guarded((const char *)0x8000000000000000ul);
    printf("%zu %d\n", n, last);
    return 0;
}
