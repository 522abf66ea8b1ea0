/* Proves: pseudo-terminals replay, with the slave's end opened as libc's openpty does it (TIOCGPTPEER): it was refused. */
// RUN: %rr %s %t
#include "common.h"
#include <errno.h>
#include <fcntl.h>
#include <pty.h>
#include <sys/ioctl.h>
#include <termios.h>

static int master, slave;
static int lines;

static void *types(void *unused) {
    (void)unused;
    for (int i = 0; i < 20; i++) {
        char line[32];
        int n = snprintf(line, sizeof line, "line %d of %d\n", i, lines);
        if (write(master, line, (size_t)n) != n) return "write";
    }
    return NULL;
}
int main(void) {
    struct winsize w = {.ws_row = 7, .ws_col = 11}, is;
    struct termios raw;
    pthread_t t;
    void *bad;
    if (openpty(&master, &slave, NULL, NULL, &w) != 0) return printf("openpty: errno %d\n", errno), 1;
    if (ioctl(master, TIOCGWINSZ, &is) != 0 || is.ws_col != 11 || tcgetattr(slave, &raw) != 0) return 2;
    cfmakeraw(&raw);
    if (tcsetattr(slave, TCSANOW, &raw) != 0) return 3;
    pthread_create(&t, NULL, types, NULL);
    for (int newlines = 0; newlines < 20;) {
        char b[64];
        ssize_t n = read(slave, b, sizeof b);
        if (n <= 0) return 4;
        for (ssize_t i = 0; i < n; i++) newlines += b[i] == '\n';
        lines = newlines;
        printf("%d: %.*s", (int)n, (int)n, b);
    }
    pthread_join(t, &bad);
    int peer = ioctl(master, TIOCGPTPEER, O_RDWR | O_NOCTTY);
    if (peer < 0 || !isatty(peer) || isatty(master + 100)) return 5;
    printf("%s\n", bad ? (char *)bad : "fine");
    return 0;
}
