/* Proves: a buffer pool between producers and consumers (mutex and condition variables) replays in the same order. */
// RUN: %rr %s %t
// SOAK: 2 4 8 16 64
#include "common.h"

#define BUFFERS 8
struct buffer {
    struct buffer *next;
    uint64_t number;
    unsigned char data[1000];
};
static struct buffer buffers[BUFFERS], *empty, *full, **full_end = &full;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t have_empty = PTHREAD_COND_INITIALIZER, have_full = PTHREAD_COND_INITIALIZER;
static long to_make, to_take;

static uint64_t produce(int me) {
    uint64_t h = seed_of(me);
    for (;;) {
        pthread_mutex_lock(&lock);
        while (!empty && to_make > 0) pthread_cond_wait(&have_empty, &lock);
        if (to_make <= 0) break;
        uint64_t number = (uint64_t)to_make--;
        struct buffer *b = empty;
        empty = b->next;
        pthread_mutex_unlock(&lock);

        h = mix(h, (uint64_t)(b - buffers) + number);
        b->number = number;
        for (uint32_t i = 0; i < sizeof b->data; i++) b->data[i] = (unsigned char)(h >> (i % 57));

        pthread_mutex_lock(&lock);
        b->next = NULL;
        *full_end = b;
        full_end = &b->next;
        pthread_cond_signal(&have_full);
        pthread_mutex_unlock(&lock);
    }
    pthread_cond_broadcast(&have_empty);
    pthread_mutex_unlock(&lock);
    return h;
}

static uint64_t consume(int me) {
    uint64_t h = seed_of(me);
    for (;;) {
        pthread_mutex_lock(&lock);
        while (!full && to_take > 0) pthread_cond_wait(&have_full, &lock);
        if (to_take <= 0) break;
        to_take--;
        struct buffer *b = full;
        full = b->next;
        if (!full) full_end = &full;
        pthread_mutex_unlock(&lock);

        h = mix_bytes(mix(h, b->number), b->data, sizeof b->data);

        pthread_mutex_lock(&lock);
        b->next = empty;
        empty = b;
        pthread_cond_signal(&have_empty);
        pthread_mutex_unlock(&lock);
    }
    pthread_cond_broadcast(&have_full);
    pthread_mutex_unlock(&lock);
    return h;
}

static uint64_t cook(int me) { return me & 1 ? consume(me) : produce(me); }

int main(int argc, char **argv) {
    args(argc, argv, 4, 200);
    if (threads < 2) threads = 2;
    to_make = to_take = rounds * threads;
    for (int i = 0; i < BUFFERS; i++) buffers[i].next = empty, empty = &buffers[i];
    return finish(together(cook));
}
