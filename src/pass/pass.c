/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* The pass from above: options in (environment, set by weft-cc), facts, rewriting, counts out. */
#include "pass.h"
#include "races/races.h"
#include "../profile/profile.h"
#include "plan/plan.h"
#include <stdlib.h>
#include <string.h>

static void options(struct weft_pass_options *o, LLVMModuleRef m) {
    const char *s;
    memset(o, 0, sizeof *o);
    o->plan = WEFT_PLAN_SHARED;
    static const char *const plans[] = {[WEFT_PLAN_ALL] = "all", [WEFT_PLAN_SHARED] = "shared", [WEFT_PLAN_SYNC] = "sync", [WEFT_PLAN_RACES] = "races"};
    for (int i = 0; (s = getenv("WEFT_PLAN")) && i < (int)(sizeof plans / sizeof *plans); i++)
        if (!strcmp(s, plans[i])) o->plan = i;
    s = getenv("WEFT_LINK");
    if (s)
        o->shared_library = !strcmp(s, "shared");
    else /* without weft-cc: a program has main */
        o->shared_library = !LLVMGetNamedFunction(m, "main");
    o->verify = getenv("WEFT_VERIFY") && *getenv("WEFT_VERIFY") == '1';
    o->stats = getenv("WEFT_STATS");
    o->serialize = getenv("WEFT_SERIALIZE");
    o->wrap = getenv("WEFT_WRAP");
    s = getenv("WEFT_GRANULARITY");
    o->granularity = s && !strcmp(s, "access") ? WEFT_GRANULARITY_ACCESS : s && !strcmp(s, "region") ? WEFT_GRANULARITY_REGION : WEFT_GRANULARITY_LOOP;
    o->profile_make = getenv("WEFT_PROFILE_MAKE") && *getenv("WEFT_PROFILE_MAKE") == '1';
    o->profile_use = getenv("WEFT_PROFILE_USE");
    o->races = getenv("WEFT_RACES") && *getenv("WEFT_RACES") == '1';
}

static void report(const struct weft_pass_options *o, const struct weft_facts *f, const struct weft_pass_stats *s) {
    struct weft_facts_counts c;
    weft__facts_count(f, &c);
    size_t shared = c.by[WEFT_WHY_ORDERED] + c.by[WEFT_WHY_UNWRITTEN] + c.by[WEFT_WHY_RACE_FREE];
    int json = o->stats[0] && strcmp(o->stats, "1");
    FILE *out = json ? fopen(o->stats, "w") : stderr;
    if (!out) {
        fprintf(stderr, "weft: %s: cannot write\n", o->stats);
        return;
    }
    if (json) {
        fprintf(out, "{\"accesses\": %zu, \"shared\": %zu, \"ordered\": %zu, \"ticks\": %zu, \"takes\": %zu, \"outside\": %zu, \"functions\": %zu, \"repeats\": %zu, \"loops\": %zu, \"covered\": %zu, \"weak_locks\": %zu, \"weak_sides\": %zu, \"weak_regions\": %zu, \"weak\": %zu, \"left_out\": {", c.accesses,
                shared, s->checks, s->ticks, s->takes, s->outs, s->functions, s->repeats, s->copied, s->covered, s->weak_locks,
                s->weak_sides, s->weak_regions, s->weak);
        for (int i = 1; i < WEFT_WHY_COUNT; i++)
            fprintf(out, "%s\"%s\": %zu", i == 1 ? "" : ", ", weft__why_name(i), c.by[i]);
        fprintf(out, "}, \"kept\": {");
        for (int i = 1; i < WEFT_KEPT_COUNT; i++)
            fprintf(out, "%s\"%s\": %zu", i == 1 ? "" : ", ", weft__kept_name(i), c.kept[i]);
        fprintf(out, "}}\n");
        fclose(out);
        return;
    }
    fprintf(out, "weft: %zu functions, %zu accesses: %zu shared, %zu ordered\n", s->functions, c.accesses,
            shared, s->checks);
    for (int i = 1; i < WEFT_WHY_COUNT; i++)
        if (c.by[i]) fprintf(out, "weft:   left out, %s: %zu\n", weft__why_name(i), c.by[i]);
    for (int i = 1; i < WEFT_KEPT_COUNT; i++)
        if (c.kept[i]) fprintf(out, "weft:   kept, %s: %zu\n", weft__kept_name(i), c.kept[i]);
    if (s->weak_locks) fprintf(out, "weft:   kept apart by weak locks: %zu, on %zu sides of %zu weak locks, in %zu regions\n", s->weak, s->weak_sides, s->weak_locks, s->weak_regions);
    if (s->copied) fprintf(out, "weft:   looked at before their loops (%zu): %zu\n", s->copied, s->covered);
    fprintf(out, "weft: %zu ticks, %zu external calls take memory, %zu calls run outside, %zu loops can be left out\n", s->ticks, s->takes, s->outs, s->repeats);
}

/* A section of text that is not loaded, for the tools. */
static void add_text(LLVMModuleRef m, const char *section, const char *text) {
    size_t n = strlen(text), k = 0, line = 0;
    char *out = weft__an_alloc(NULL, 5 * n + n / 32 * 16 + 256, 1);
    k += (size_t)sprintf(out, ".section %s,\"\",@progbits\n", section);
    for (size_t i = 0; i < n; i++) {
        unsigned char c = (unsigned char)text[i];
        if (!line) k += (size_t)sprintf(out + k, ".ascii \"");
        if (c >= ' ' && c < 127 && c != '"' && c != '\\')
            out[k++] = (char)c;
        else
            k += (size_t)sprintf(out + k, "\\%03o", c);
        line = (line + 1) % 512;
        if (!line || i + 1 == n) k += (size_t)sprintf(out + k, "\"\n");
    }
    k += (size_t)sprintf(out + k, ".previous\n");
    LLVMAppendModuleInlineAsm(m, out, k);
    free(out);
}

/* What `weft races` reads. */
static void find_races(LLVMModuleRef m, struct weft_facts *f, const struct weft_pass_options *o) {
    struct weft_facts *own = NULL;
    if (o->plan != WEFT_PLAN_SHARED && o->plan != WEFT_PLAN_RACES) { /* other plans do not need all that we do */
        struct weft_facts_options fo = {.shared_library = o->shared_library, .plan = WEFT_PLAN_SHARED};
        f = own = weft__facts_new(m, &fo);
    }
    struct weft_races *r = weft__races_new(f, 0, NULL);
    char *text = weft__races_text(r);
    add_text(m, ".weft.races", text);
    free(text);
    weft__races_free(r);
    weft__facts_free(own);
}

/* What `weft profile` reads: the names of the regions, by number. */
static void tell_regions(LLVMModuleRef m, const struct weft_regions *r) {
    size_t n = 1, at = 0;
    for (uint32_t k = 0; k < r->count; k++) n += strlen(r->region[k].name) + 1;
    char *text = weft__an_alloc(NULL, n, 1);
    *text = 0;
    for (uint32_t k = 0; k < r->count; k++) at += (size_t)sprintf(text + at, "%s\n", r->region[k].name);
    add_text(m, ".weft.regions", text);
    free(text);
}

int weft__pass_run(LLVMModuleRef m) {
    struct weft_pass_options o;
    struct weft_pass_stats s = {0};
    char err[512];
    options(&o, m);
    if (LLVMGetNamedGlobal(m, "__weft_tls")) return 0; /* done before */
    const char *files = getenv("WEFT_EXTERNALS");
    if (files && *files) {
        char *copy = strdup(files);
        for (char *p = strtok(copy, ":"); p; p = strtok(NULL, ":"))
            if (weft__externals_load(p, err, sizeof err)) {
                fprintf(stderr, "weft: %s\n", err);
                exit(1);
            }
        free(copy);
    }
    weft__rewrite_wraps(m, o.wrap);
    weft__rewrite_early(m, &o);
    struct weft_facts_options fo = {.shared_library = o.shared_library, .plan = o.plan};
    struct weft_facts *f = weft__facts_new(m, &fo);
    const char *name;
    if (!getenv("WEFT_QUIET"))
        for (size_t i = 0; (name = weft__facts_unknown(f, i)); i++)
            fprintf(stderr, "weft: warning: external function '%s' is not in the table: it runs outside, unordered (-weft-serialize=%s, -weft-externals=FILE)\n", name, name);
    if (o.races) find_races(m, f, &o);
    struct weft_profile *profile = NULL;
    struct weft_regions *regions = NULL;
    int apart = o.granularity == WEFT_GRANULARITY_REGION;
    if (o.plan == WEFT_PLAN_RACES && !o.shared_library && (o.profile_make || o.profile_use || apart)) regions = weft__regions_new(f);
    if (regions && o.profile_use && !apart && !(profile = weft__profile_read(o.profile_use, err, sizeof err))) {
        fprintf(stderr, "weft: %s\n", err);
        exit(1);
    }
    if (o.plan == WEFT_PLAN_RACES && !weft__plan_races(f, regions, profile, apart, &s)) {
        if (!getenv("WEFT_QUIET")) fprintf(stderr, "weft: warning: the program is too large for plan races: it has plan shared\n");
        o.plan = WEFT_PLAN_SHARED;
    }
    weft__rewrite(m, f, regions, &o, &s);
    if (o.profile_make && regions) tell_regions(m, regions);
    weft__rewrite_wraps_end(m, o.wrap);
    if (o.stats) report(&o, f, &s);
    weft__regions_free(regions);
    weft__profile_free(profile);
    weft__facts_free(f);
    return 1;
}
