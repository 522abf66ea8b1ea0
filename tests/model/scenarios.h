/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* What the explorer explores. See struct scenario and run_op() in explore.c for the letters. */
static const struct scenario scenarios[] = {
    /* One line, handed round. */
    {"ask", "10", 's', 3, 0, 0, {"wA0 t wA0", "wA0 t", "rA0"}, "stD"},
    {"ask-two", "10", 's', 3, 0, 0, {"wA0 t wA0", "wA0 t", ""}, "d"},
    {"ask-three", "10", 's', 3, 0, 0, {"wA0 t", "wA0", "wA0"}, "D"},
    {"ask-again", "11", 's', 3, 0, 0, {"t t", "wA0", "wB0"}, "stD"},
    {"first-owner", "00", 's', 3, 0, 0, {"wA0 t", "wA0 wB0", "rB0"}, "st"},
    {"outside", "10", 's', 3, 0, 0, {"wA0 o wA0", "wA0 o", "rA0"}, "stD"},
    {"outside-two", "10", 's', 3, 0, 0, {"wA0 o wA0", "wA0 o wA0", ""}, "d"},
    /* Two lines: threads that wait for each other lose what they have meanwhile. */
    {"crossed-two", "12", 's', 3, 0, 0, {"wA0 wB0 t wA1", "wB0 wA0 t wB1", ""}, "std"},
    {"crossed", "12", 's', 3, 0, 0, {"wA0 wB0 t wA1", "wB0 wA0 t", "rA0 rB0"}, "sT"},
    {"ring", "12", 's', 3, 0, 0, {"wA0 wB0", "wB0 wA0", "wA0 wB0"}, "st"},
    {"straddle", "12", 's', 3, 0, 0, {"x t wA7", "wB0 x", "wA7 t"}, "sT"},
    {"straddle-pages", "12", 'p', 1, 0, 0, {"x t", "y wB0", "wA7 t"}, "sT"},
    {"page", "11", 's', 1, 0, 0, {"wA0 wB0 t wA0", "wA0 t wB0", "rB0 rA0"}, "sT"},
    /* Who is asked keeps what it has for some ticks. */
    {"hold", "10", 's', 3, 0, 0, {"wA0 t t wA0", "wA0 t", "rA0"}, "st", 2},
    {"hold-two", "10", 's', 3, 0, 0, {"wA0 t t wA0", "wA0 t", ""}, "d", 1},
    {"hold-three", "10", 's', 3, 0, 0, {"wA0 t t", "wA0", "wA0"}, "D", 1},
    {"hold-sleepers", "11", 's', 3, 0, 0, {"t t", "wA0", "wB0"}, "d", 1},
    {"hold-crossed", "12", 's', 3, 0, 0, {"wA0 wB0 t wA1", "wB0 wA0 t wB1", "rA0"}, "sT", 1},
    {"hold-hot", "12", 's', 3, 1, 0, {"wA0 wB0 t", "wB0 wA0 t", ""}, "std", 1},
    /* Groups. */
    {"group", "12", 's', 3, 0, 0, {"k t", "wB0 t wA0", "wA0"}, "sT"},
    {"groups-two", "12", 's', 3, 0, 0, {"k", "k", "t"}, "st"},
    {"groups", "12", 's', 3, 0, 0, {"k", "k", "wA0 t wB0"}, "ST"},
    {"group-outside", "13", 's', 3, 0, 0, {"k t", "wA0 t", "wB0 o"}, "st"},
    /* Words. */
    {"split", "SS", 's', 3, 0, 0, {"wA0 rA1 t", "wA1 wA0", "rA0 wA1"}, "st"},
    {"split-halves", "S0", 's', 3, 0, 0, {"wA0 wA0", "wa0 rA0", "ra0"}, "std"},
    {"split-then-take", "S2", 's', 3, 0, 0, {"wA0 J", "wB0 wA0", ""}, "std"},
    {"hot-two", "10", 's', 3, 2, 0, {"wA0 t wA1", "wA0 wA1", ""}, "std"},
    {"hot", "10", 's', 3, 2, 0, {"wA0 t wA1", "wA0 wA1", "rA0"}, "sT"},
    {"hot-straddle", "12", 's', 3, 1, 0, {"x t", "wB0 x", "wA7"}, "ST"},
    {"calm-two", "S0", 's', 3, 1, 1, {"wA0 wA1", "wA0 t wA1", ""}, "sTD"},
    {"calm", "S0", 's', 3, 1, 1, {"wA0 wA1", "wA0 t wA1", "rA0"}, "ST"},
    {"join", "S0", 's', 3, 0, 0, {"wA0 wA1", "j t", "rA1 rA0"}, "sT"},
    {"join-group-two", "S2", 's', 3, 1, 0, {"k", "wB0 wA0", ""}, "st"},
    {"join-group", "S2", 's', 3, 1, 0, {"k", "wB0 wA0", "rA0"}, "ST"},
    {"shared-stripes", "S1", 'c', 3, 1, 0, {"wA0 wB0", "wB0 wA0", "rA0"}, "sT"},
    {"hot-same", "10", 's', 3, 1, 0, {"wA0 t wA0", "wA0", ""}, "std"},
    /* A thread gets one line, waits for the other, and loses the first one before it used it. */
    {"step", "12", 's', 3, 0, 0, {"wA7 t", "x", "wB0 wA7"}, "st"},
    {"step-split", "12", 's', 3, 1, 0, {"wA7 t", "x", "wB0 wA7"}, "sT"},
    /* Operations on objects. */
    {"order", "10", 's', 3, 0, 0, {"n wA0 n", "n wA0", "n"}, "std"},
    {"mutex", "10", 's', 3, 0, 0, {"l wA0 u", "l wA0 u", "l rA0 u"}, "sT"},
    /* More of everything. */
    {"long-words", "S1", 's', 3, 1, 1, {"wA0 wB0 wA1", "wB0 t wA0", "rA0 rB0"}, "ST"},
    {"long-mixed", "12", 's', 1, 1, 0, {"k o wA0", "x t wB0", "rA0 n"}, "ST"},
    {"long-three", "12", 's', 3, 0, 0, {"wA0 t wB0 t wA0", "wB0 t wA0 t wB0", "rA0 t rB0"}, "S"},
    /* Misuse, which must be found: what was accessed at a tick's own position is given away before the next tick. */
    {"misuse-outside", "12", 's', 3, 0, 0, {"b", "wA0", ""}, "s!"},
    {"misuse-two-takes", "12", 's', 3, 0, 0, {"m", "wB0", "rA0"}, "s!"},
};
