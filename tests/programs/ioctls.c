/* Proves: ioctl and fcntl of the common kinds: SIGIO on a socket that asks for it (FIOASYNC, F_SETOWN, F_SETSIG), owners, locks
 * of an open file, sizes, windows, interfaces, random numbers; and those that the kernel does not know fail as they do natively. */
// RUN: %rr %s %t
#include "common.h"
#include <errno.h>
#include <fcntl.h>
#include <linux/random.h>
#include <net/if.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/socket.h>

static volatile sig_atomic_t came;
static void on_io(int sig) { came += sig; }

#define NEED(x)                                                                                                        \
    do {                                                                                                               \
        if (!(x)) {                                                                                                    \
            printf("line %d: %s: errno %d\n", __LINE__, #x, errno);                                                    \
            return 1;                                                                                                  \
        }                                                                                                              \
    } while (0)

int main(void) {
    int pair[2], on = 1, there = -1;
    char c, name[] = "/tmp/weft-ioctls-XXXXXX";
    signal(SIGIO, on_io);
    signal(SIGUSR1, on_io);
    NEED(socketpair(AF_UNIX, SOCK_STREAM, 0, pair) == 0);
    NEED(fcntl(pair[0], F_SETOWN, getpid()) == 0 && ioctl(pair[0], FIOASYNC, &on) == 0);
    NEED(fcntl(pair[0], F_GETOWN) == getpid());
    sigset_t all, none;
    sigfillset(&all);
    sigemptyset(&none);
    for (int i = 0; i < 3; i++) {
        came = 0;
        sigprocmask(SIG_SETMASK, &all, NULL);
        NEED(write(pair[1], "x", 1) == 1);
        sigsuspend(&none);
        sigprocmask(SIG_SETMASK, &none, NULL);
        NEED(came == (i < 2 ? SIGIO : SIGUSR1));
        NEED(ioctl(pair[0], FIONREAD, &there) == 0 && there == 1 && read(pair[0], &c, 1) == 1);
        if (i == 1) NEED(fcntl(pair[0], F_SETSIG, SIGUSR1) == 0 && fcntl(pair[0], F_GETSIG) == SIGUSR1);
    }
    struct f_owner_ex owner = {F_OWNER_TID, gettid()}, is = {0};
    NEED(fcntl(pair[0], F_SETOWN_EX, &owner) == 0 && fcntl(pair[0], F_GETOWN_EX, &is) == 0 && is.pid == gettid());

    int random = open("/dev/random", O_RDONLY);
    NEED(ioctl(random, RNDGETENTCNT, &there) == 0); /* std::random_device */
    close(random);
    int a = mkstemp(name), b = open(name, O_RDWR);
    struct flock l = {.l_type = F_WRLCK, .l_len = 10}, other = l;
    NEED(fcntl(a, F_OFD_SETLK, &l) == 0 && fcntl(b, F_OFD_SETLK, &other) == -1 && errno == EAGAIN);
    NEED(fcntl(b, F_OFD_GETLK, &other) == 0 && other.l_type == F_WRLCK && other.l_pid == -1);
    NEED(unlink(name) == 0);

    struct winsize w = {0};
    NEED(ioctl(a, TIOCGWINSZ, &w) == -1 && errno == ENOTTY);
    struct ifreq r = {0};
    strcpy(r.ifr_name, "lo");
    int s = socket(AF_INET, SOCK_DGRAM, 0);
    NEED(ioctl(s, SIOCGIFINDEX, &r) == 0 && r.ifr_ifindex > 0);
    int index = r.ifr_ifindex;
    NEED(ioctl(s, SIOCGIFMTU, &r) == 0 && r.ifr_mtu > 0);
    struct ifreq many[64];
    struct ifconf all_of = {.ifc_len = 0, .ifc_buf = NULL};
    NEED(ioctl(s, SIOCGIFCONF, &all_of) == 0 && all_of.ifc_len >= (int)sizeof *many);
    all_of.ifc_len = sizeof many;
    all_of.ifc_req = many;
    NEED(ioctl(s, SIOCGIFCONF, &all_of) == 0 && all_of.ifc_len >= (int)sizeof *many && all_of.ifc_len % (int)sizeof *many == 0);
    for (int i = 0; i < all_of.ifc_len / (int)sizeof *many; i++) printf("%s\n", many[i].ifr_name);
    all_of.ifc_len = sizeof *many; /* no more than one */
    NEED(ioctl(s, SIOCGIFCONF, &all_of) == 0 && all_of.ifc_len == sizeof *many);
    NEED(ioctl(a, 0x12345, many) == -1 && errno == ENOTTY);
    NEED(ioctl(-1, 0x12345, many) == -1 && errno == EBADF);
    NEED(prctl(9999, 1, 0, 0, 0) == -1 && errno == EINVAL);
    NEED(fcntl(a, 9999, 0) == -1 && errno == EINVAL);
    printf("%d %d %d\n", index, r.ifr_mtu, is.pid);
    return 0;
}
