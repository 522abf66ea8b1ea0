/* Proves: C11 threads (thrd, mtx, cnd, tss, call_once) replay exactly. */
// RUN: %rr %s %t
// SOAK: 2 4 8
#include "common.h"
#include <threads.h>
#include <time.h>

static mtx_t plain, timed, recursive;
static cnd_t changed;
static tss_t key;
static uint64_t word, gone;
static volatile uint32_t pot[8];

static void destroy(void *p) { __atomic_fetch_add(&gone, (uintptr_t)p * pot[1]++, __ATOMIC_RELAXED); }

static int cook(void *p) {
    int me = (int)(uintptr_t)p;
    uint64_t h = seed_of(me);
    tss_set(key, (void *)(uintptr_t)(me + 1));
    for (long i = 0; i < rounds; i++) {
        struct timespec t;
        switch (h % 4) {
        case 0:
            mtx_lock(&plain);
            word = mix(word, h);
            cnd_signal(&changed);
            mtx_unlock(&plain);
            break;
        case 1:
            timespec_get(&t, TIME_UTC);
            t.tv_nsec = t.tv_nsec < 999900000 ? t.tv_nsec + 50000 : 999999999;
            mtx_lock(&plain);
            h = mix(h, (uint64_t)cnd_timedwait(&changed, &plain, &t));
            mtx_unlock(&plain);
            break;
        case 2:
            timespec_get(&t, TIME_UTC);
            if (mtx_timedlock(&timed, &t) == thrd_success) {
                h = mix(h, pot[h % 8]++);
                mtx_unlock(&timed);
            } else h = mix(h, 5);
            break;
        default:
            if (mtx_trylock(&recursive) == thrd_success) {
                mtx_lock(&recursive);
                h = mix(h, word);
                mtx_unlock(&recursive);
                mtx_unlock(&recursive);
            }
            thrd_yield();
        }
        h = mix(h, (uintptr_t)tss_get(key) + pot[3]++);
    }
    thrd_exit((int)(h & 0xffff));
}

int main(int argc, char **argv) {
    args(argc, argv, 4, 200);
    mtx_init(&plain, mtx_plain);
    mtx_init(&timed, mtx_timed);
    mtx_init(&recursive, mtx_plain | mtx_recursive);
    cnd_init(&changed);
    tss_create(&key, destroy);
    thrd_t t[MAX_THREADS];
    uint64_t h = 0;
    for (int i = 0; i < threads; i++)
        if (thrd_create(&t[i], cook, (void *)(uintptr_t)i) != thrd_success) return 3;
    for (int i = 0; i < threads; i++) {
        int r;
        thrd_join(t[i], &r);
        h = mix(h, (uint64_t)r);
    }
    struct timespec ms = {0, 1000000};
    thrd_sleep(&ms, NULL);
    return finish(mix(mix(h, word), gone));
}
