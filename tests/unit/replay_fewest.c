/* Proves: the order that is found has no more preemptions than any other, all steps once, each after what it waits for; against all orders of small cases. */
/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "replay/replay.h"

#include <stdlib.h>

#define LANES 3u
#define STEPS 6u
#define STATES 343u /* (STEPS + 1) ^ LANES */

static uint64_t rnd(uint64_t *x) {
    *x ^= *x << 13;
    *x ^= *x >> 7;
    *x ^= *x << 17;
    return *x >> 11;
}

/* Steps in some order, each of which may have to come after where another lane is then. */
static void random_lanes(uint64_t seed, struct weft_lane *lane, struct weft_lane_step (*step)[STEPS]) {
    uint64_t x = seed * 88172645463325252ull + 1;
    for (uint32_t l = 0; l < LANES; l++) lane[l] = (struct weft_lane){step[l], 0};
    for (uint32_t n = 0; n < LANES * STEPS;) {
        uint32_t l = (uint32_t)(rnd(&x) % LANES), o = (uint32_t)(rnd(&x) % LANES);
        if (lane[l].n == STEPS) continue;
        step[l][lane[l].n++] = (struct weft_lane_step){o, o != l && rnd(&x) % 3 ? lane[o].n : 0, rnd(&x) % 4 == 0};
        n++;
    }
}

/* Preemptions of the best of all orders, by relaxation: a state is how far each lane is, and who ran. */
static uint32_t least(const struct weft_lane *lane) {
    static uint32_t cost[STATES][LANES];
    static const uint32_t power[] = {1, STEPS + 1, (STEPS + 1) * (STEPS + 1)};
    for (uint32_t s = 0; s < STATES; s++)
        for (uint32_t l = 0; l < LANES; l++) cost[s][l] = s ? UINT32_MAX : 0;
    for (uint32_t s = 0; s < STATES; s++) { /* a step leads to a higher number */
        uint32_t at[LANES], best = UINT32_MAX;
        for (uint32_t l = 0; l < LANES; l++) at[l] = s / power[l] % (STEPS + 1);
        for (uint32_t l = 0; l < LANES; l++) { /* it stops here */
            uint32_t stop = s && at[l] < STEPS && !lane[l].list[at[l]].operation && at[l];
            if (cost[s][l] != UINT32_MAX && cost[s][l] + stop < best) best = cost[s][l] + stop;
        }
        for (uint32_t l = 0; l < LANES; l++) {
            if (best < cost[s][l]) cost[s][l] = best;
            if (cost[s][l] == UINT32_MAX || at[l] == STEPS) continue;
            const struct weft_lane_step *x = &lane[l].list[at[l]];
            if (x->need && at[x->other] < x->need) continue;
            if (cost[s][l] < cost[s + power[l]][l]) cost[s + power[l]][l] = cost[s][l];
        }
    }
    uint32_t best = UINT32_MAX;
    for (uint32_t l = 0; l < LANES; l++)
        if (cost[STATES - 1][l] < best) best = cost[STATES - 1][l];
    return best;
}

static uint32_t preemptions(const struct weft_lane *lane, const struct weft_stretch *run, size_t n) {
    uint32_t at[LANES] = {0}, count = 0;
    for (size_t i = 0; i < n; i++) {
        uint32_t l = run[i].lane;
        assert_true(run[i].to > at[l] && run[i].to <= STEPS);
        for (; at[l] < run[i].to; at[l]++) {
            const struct weft_lane_step *x = &lane[l].list[at[l]];
            assert_true(!x->need || at[x->other] >= x->need);
        }
        count += i + 1 < n && run[i + 1].lane != l && at[l] < STEPS && !lane[l].list[at[l]].operation;
    }
    for (uint32_t l = 0; l < LANES; l++) assert_int_equal(at[l], STEPS);
    return count;
}

static void all_orders(void **state) {
    (void)state;
    for (uint64_t seed = 1; seed <= 3000; seed++) {
        struct weft_lane lane[LANES];
        struct weft_lane_step step[LANES][STEPS];
        struct weft_stretch *run;
        random_lanes(seed, lane, step);
        uint32_t most = least(lane);
        size_t n = weft__fewest(lane, LANES, most, &run);
        assert_true(n > 0);
        assert_int_equal(preemptions(lane, run, n), most);
        free(run);
        if (!most) continue;
        n = weft__fewest(lane, LANES, most - 1, &run);
        assert_int_equal(n, 0);
        free(run);
    }
}

/* What waits for each other has no order. */
static void a_cycle(void **state) {
    (void)state;
    struct weft_lane_step a = {1, 1, false}, b = {0, 1, false};
    struct weft_lane lane[] = {{&a, 1}, {&b, 1}};
    struct weft_stretch *run;
    assert_int_equal(weft__fewest(lane, 2, 10, &run), 0);
    free(run);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(all_orders), cmocka_unit_test(a_cycle)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
