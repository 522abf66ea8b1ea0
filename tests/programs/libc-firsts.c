/* Proves: what libc finds out, opens and loads when it is first asked (name services, the resolver, conversions, locales, time zones,
 * shared libraries) is found out by the same thread in replay, in whatever order threads ask. */
/* Without the order, three of three such tests failed. */
// RUN: %rr %s %t -r 4
// SOAK: 2 4
#include "common.h"
#include <dlfcn.h>
#include <errno.h>
#include <glob.h>
#include <grp.h>
#include <iconv.h>
#include <langinfo.h>
#include <locale.h>
#include <netdb.h>
#include <pwd.h>
#include <sys/socket.h>
#include <syslog.h>
#include <time.h>
#include <wchar.h>
#include <wordexp.h>

static char *text(const char *s) { return strdup(s ? s : "-"); }
static char *convert(void) {
    char *in = (char *)"abc", out[32], *to = out;
    size_t n = 3, room = sizeof out;
    iconv_t c = iconv_open("UTF-16LE", "UTF-8");
    iconv(c, &in, &n, &to, &room);
    iconv_close(c);
    return text(room == 26 ? "6" : "?");
}
static char *address(void) {
    struct addrinfo hints = {.ai_socktype = SOCK_STREAM}, *list = NULL;
    char *r = text(getaddrinfo("localhost", "http", &hints, &list) ? "?" : "localhost");
    if (list) freeaddrinfo(list);
    return r;
}
static char *host(void) {
    struct hostent h, *found;
    char b[2000];
    int e;
    gethostbyname_r("localhost", &h, b, sizeof b, &found, &e);
    return text(found ? found->h_name : NULL);
}
static char *service(void) {
    struct servent v, *found;
    char b[2000];
    getservbyname_r("smtp", "tcp", &v, b, sizeof b, &found);
    return text(found ? found->s_name : NULL);
}
static char *protocol(void) {
    struct protoent v, *found;
    char b[2000];
    getprotobyname_r("tcp", &v, b, sizeof b, &found);
    return text(found ? found->p_name : NULL);
}
static char *user(void) {
    struct passwd p, *found;
    char b[2000];
    getpwnam_r("daemon", &p, b, sizeof b, &found);
    return text(found ? found->pw_dir : NULL);
}
static char *group(void) {
    struct group g, *found;
    char b[4000];
    gid_t ids[50];
    int n = 50;
    getgrgid_r(0, &g, b, sizeof b, &found);
    getgrouplist("root", 0, ids, &n);
    return text(found ? found->gr_name : NULL);
}
static char *home(void) {
    wordexp_t w;
    if (wordexp("~root", &w, 0)) return text(NULL);
    char *r = text(w.we_wordv[0]);
    wordfree(&w);
    return r;
}
static char *tilde(void) {
    glob_t g;
    if (glob("~daemon", GLOB_TILDE | GLOB_NOCHECK, NULL, &g)) return text(NULL);
    char *r = text(g.gl_pathv[0]);
    globfree(&g);
    return r;
}
static char *message(void) { return text(strerror(EPERM)); }
static char *locale(void) {
    locale_t l = newlocale(LC_ALL_MASK, "C.UTF-8", 0);
    char *r = text(l ? nl_langinfo_l(CODESET, l) : NULL);
    if (l) freelocale(l);
    return r;
}
static char *when(void) {
    time_t t = 86400 * 200;
    struct tm tm;
    char b[100];
    localtime_r(&t, &tm);
    strftime(b, sizeof b, "%c", &tm);
    return text(b);
}
static char *zone(void) {
    struct tm tm = {.tm_mday = 1, .tm_year = 70};
    char b[100];
    locale_t l = newlocale(LC_ALL_MASK, "C", 0);
    strftime_l(b, sizeof b, "%c %Z", &tm, l);
    freelocale(l);
    return text(b);
}
static char *logged(void) { /* has the time in it */
    syslog(LOG_DEBUG, "a test");
    return text("logged");
}
static char *library(void) {
    void *h = dlopen("libm.so.6", RTLD_NOW);
    char *r = text(h && dlsym(h, "cbrt") ? "cbrt" : NULL);
    if (h) dlclose(h);
    return r;
}
static char *wide(void) {
    wchar_t w[8];
    mbstate_t s = {0};
    const char *p = "abc";
    return text(mbsrtowcs(w, &p, 8, &s) == 3 ? "abc" : NULL);
}
static char *(*const first[])(void) = {convert, address, host, service, protocol, user, group, home, tilde, message, locale, when, zone, logged, library, wide};
#define N (sizeof first / sizeof *first)

static uint64_t ask(int me) {
    uint64_t s = seed_of(me), h = s;
    size_t order[N];
    for (size_t i = 0; i < N; i++) {
        size_t k = rnd(&s) % (i + 1);
        order[i] = order[k];
        order[k] = i;
    }
    for (size_t i = 0; i < N; i++) {
        char *r = first[order[i]]();
        h = mix_bytes(h, r, strlen(r));
        free(r);
    }
    return h;
}

int main(int argc, char **argv) {
    args(argc, argv, 4, 1);
    if (threads % 2 == 0) setlocale(LC_ALL, "C.UTF-8");
    return finish(together(ask));
}
