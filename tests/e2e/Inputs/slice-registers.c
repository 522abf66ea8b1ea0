// A value that is in a register while something else is read, whose check uses that register for a moment.
#include <pthread.h>
#include <stdlib.h>

static long source, other, unused;

static void *work(void *p) {
    source = 7; // in
    other = 3; // out
    unused = 5; // out
    return p;
}

__attribute__((noinline)) static long look(long v) {
    __asm__ volatile("" : "+c"(v));
    unused += other; // out
    __asm__ volatile("" : "+c"(v));
    return v;
}

int main(void) {
    pthread_t t;
    pthread_create(&t, NULL, work, NULL);
    pthread_join(t, NULL);
    if (look(source) == 7) abort(); // in
    return unused != 8;
}
