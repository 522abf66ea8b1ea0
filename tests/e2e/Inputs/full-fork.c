/* For max-size.test: processes that are forked before, while and after the log ends, and write a lot into it. */
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

static void work(int n) {
    static char buf[4096];
    FILE *f = fopen("/dev/urandom", "r");
    unsigned sum = 0;
    for (int i = 0; i < n; i++) {
        if (fread(buf, 1, sizeof buf, f) != sizeof buf) exit(2);
        sum += (unsigned char)buf[i % 4096];
    }
    fclose(f);
    printf("%u\n", sum);
    fflush(stdout);
}

int main(int argc, char **argv) {
    int n = argc > 1 ? atoi(argv[1]) : 10, status = argc > 2 ? atoi(argv[2]) : 0;
    for (int i = 0; i < n; i++) {
        pid_t one = fork();
        if (!one) {
            work(20);
            pid_t two = fork();
            if (!two) {
                work(3);
                _exit(1);
            }
            int s;
            waitpid(two, &s, 0);
            _exit(WEXITSTATUS(s) - 1);
        }
        if (i % 4 == 0) work(10);
        int s = 1;
        if (waitpid(one, &s, 0) != one || s) return 3;
    }
    puts("through");
    return status;
}
