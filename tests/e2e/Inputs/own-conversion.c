// A conversion of printf that the program registers: used before there are threads, and, with an argument, by one of them.
#include <printf.h>
#include <pthread.h>
#include <stdio.h>
struct pair { int a, b; };
static struct pair pair = {1, 2};
static int print(FILE *f, const struct printf_info *info, const void *const *args) {
    const struct pair *p = *(struct pair *const *)args[0];
    return fprintf(f, "%*d/%d", info->width, p->a, p->b);
}
static int arguments(const struct printf_info *info, size_t n, int *types, int *sizes) {
    (void)info;
    if (n) types[0] = PA_POINTER, sizes[0] = sizeof(void *);
    return 1;
}
static void *work(void *own) {
    char text[64];
    pair.a++;
    snprintf(text, sizeof text, own ? "%Q %s" : "%p %s", (void *)&pair, "there");
    return NULL;
}
int main(int argc, char **argv) {
    pthread_t t;
    (void)argv;
    register_printf_specifier('Q', print, arguments);
    printf("%Q %s\n", (void *)&pair, "here");
    pthread_create(&t, NULL, work, argc > 1 ? &t : NULL);
    pthread_join(t, NULL);
    printf(argc > 1 ? "%Q\n" : "ended\n", (void *)&pair);
    return 0;
}
