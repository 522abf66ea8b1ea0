/* Proves: what prctl tells of the process is an input; names of threads stay their own. */
// RUN: %rr %s %t
#include "common.h"
#include <sys/prctl.h>

static uint64_t cook(int me) {
    char name[32] = {0}, set[16];
    int on_parents_death = -1;
    snprintf(set, sizeof set, "cook %d", me);
    prctl(PR_SET_NAME, set);
    prctl(PR_GET_NAME, name);
    prctl(PR_GET_PDEATHSIG, &on_parents_death);
    uint64_t h = mix_bytes(mix(seed_of(me), (uint64_t)on_parents_death), name, sizeof name);
    if (on_parents_death == 9) for (int i = 0; i < 10; i++) h = mix(h, (uint64_t)getppid());
    return mix(h, (uint64_t)prctl(PR_GET_TIMERSLACK) + (uint64_t)prctl(PR_GET_DUMPABLE) * 3);
}

int main(int argc, char **argv) {
    args(argc, argv, 2, 1);
    uint64_t h = cook(9); /* what happens when the parent dies is said of the main thread */
    return finish(mix(h, together(cook)));
}
