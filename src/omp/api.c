/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* What <omp.h> declares, but for locks (sync.c) and events (task.c); settings, and the environment that they come from. */
#define _GNU_SOURCE
#include "team.h"

#include <limits.h>
#include <malloc.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <time.h>

#define API OMP_API

/* ---- the environment: OMP_NUM_THREADS and the like; what cannot be read is as if it were not there --------------------- */

struct omp_settings weft__omp_settings;

static int processors(void) {
    cpu_set_t set;
    return sched_getaffinity(0, sizeof set, &set) ? 1 : CPU_COUNT(&set);
}
static int number(const char *name, int least, int otherwise) {
    const char *s = getenv(name);
    char *end;
    long n = s ? strtol(s, &end, 10) : 0;
    return s && end != s && n >= least && n <= INT_MAX ? (int)n : otherwise;
}
static int truth(const char *name) {
    const char *s = getenv(name);
    return s && (!strcasecmp(s, "true") || !strcmp(s, "1"));
}
/* Numbers for omp_set_schedule: omp_sched_t. */
enum { API_STATIC = 1, API_DYNAMIC, API_GUIDED, API_AUTO };
#define API_MONOTONIC (1u << 31)
static const struct {
    const char *name;
    int api, sched;
} schedules[] = {{"static", API_STATIC, 34}, {"dynamic", API_DYNAMIC, 35}, {"guided", API_GUIDED, 36}, {"auto", API_AUTO, 34}};
static void set_schedule(int *sched, int *chunk_at, int which, int chunk) {
    *sched = which == 34 && chunk > 0 ? 33 : which;
    *chunk_at = chunk > 0 ? chunk : 0;
}

void weft__omp_read_settings(void) {
    struct omp_settings *s = &weft__omp_settings;
    const char *list = getenv("OMP_NUM_THREADS");
    while (list && s->levels_given < 8) {
        char *end;
        long n = strtol(list, &end, 10);
        if (end == list || n < 1 || n > 65536) break;
        s->threads[s->levels_given++] = (int)n;
        while (*end == ' ') end++;
        if (*end != ',') break;
        list = end + 1;
    }
    s->processors = processors();
    if (!s->levels_given) s->threads[s->levels_given++] = s->processors;
    s->most = number("OMP_THREAD_LIMIT", 1, INT_MAX);
    s->levels = number("OMP_MAX_ACTIVE_LEVELS", 0, truth("OMP_NESTED") || s->levels_given > 1 ? INT_MAX : 1);
    s->dynamic = truth("OMP_DYNAMIC");
    set_schedule(&s->sched, &s->chunk, 34, 0);
    const char *how = getenv("OMP_SCHEDULE"), *colon = how ? strchr(how, ':') : NULL; /* monotonic:dynamic,4 */
    if (colon) how = colon + 1;
    for (size_t i = 0; how && i < sizeof schedules / sizeof *schedules; i++) {
        size_t n = strlen(schedules[i].name);
        if (strncasecmp(how, schedules[i].name, n)) continue;
        const char *comma = strchr(how, ',');
        set_schedule(&s->sched, &s->chunk, schedules[i].sched, comma ? atoi(comma + 1) : 0);
    }
    const char *stack = getenv("OMP_STACKSIZE"); /* 64M; without a letter, kilobytes */
    if (stack) {
        char *end;
        unsigned long long n = strtoull(stack, &end, 10);
        while (*end == ' ') end++;
        int shift = strchr("bB", *end) && *end ? 0 : strchr("mM", *end) && *end ? 20 : strchr("gG", *end) && *end ? 30 : 10;
        if (end != stack && n << shift >= 16384 && n < 1ull << 33) s->stack = (size_t)(n << shift);
    }
}

/* ---- threads and regions --------------------------------------------------------------------------------------------- */

API void omp_set_num_threads(int n) {
    if (n > 0) weft__omp_self()->wanted = n;
}
API int omp_get_num_threads(void) { return weft__omp_self()->team->threads; }
API int omp_get_max_threads(void) { return weft__omp_wanted(weft__omp_self()); }
API int omp_get_thread_num(void) { return weft__omp_self()->num; }
API int omp_get_num_procs(void) { return processors(); }
API int omp_in_parallel(void) { return weft__omp_self()->team->active > 0; }
API void omp_set_dynamic(int on) { weft__omp_self()->dynamic = on != 0; }
API int omp_get_dynamic(void) { return weft__omp_self()->dynamic; }
API void omp_set_nested(int on) { weft__omp_self()->levels = on ? INT_MAX : 1; }
API int omp_get_nested(void) { return weft__omp_self()->levels > 1; }
API void omp_set_max_active_levels(int n) {
    if (n >= 0) weft__omp_self()->levels = n;
}
API int omp_get_max_active_levels(void) { return weft__omp_self()->levels; }
API int omp_get_supported_active_levels(void) { return INT_MAX; }
API int omp_get_thread_limit(void) {
    weft__omp_self();
    return weft__omp_settings.most;
}
API int omp_get_level(void) { return weft__omp_self()->team->level; }
API int omp_get_active_level(void) { return weft__omp_self()->team->active; }
API int omp_get_ancestor_thread_num(int level) {
    const struct omp_thread *t = weft__omp_self();
    int num = t->num;
    if (level < 0 || level > t->team->level) return -1;
    for (const struct omp_team *team = t->team; team->level > level; team = team->parent) num = team->master_num;
    return num;
}
API int omp_get_team_size(int level) {
    const struct omp_team *team = weft__omp_self()->team;
    if (level < 0 || level > team->level) return -1;
    while (team->level > level) team = team->parent;
    return team->threads;
}
API int omp_in_final(void) { return weft__omp_in_final(weft__omp_self()); }
API int omp_is_free_agent(void) { return 0; }
API int omp_get_cancellation(void) { return 0; }
API int omp_get_max_task_priority(void) { return 0; }

API void omp_set_schedule(int kind, int chunk) {
    struct omp_thread *t = weft__omp_self();
    for (size_t i = 0; i < sizeof schedules / sizeof *schedules; i++)
        if (schedules[i].api == (int)((unsigned)kind & ~API_MONOTONIC)) set_schedule(&t->sched, &t->sched_chunk, schedules[i].sched, chunk);
}
API void omp_get_schedule(int *kind, int *chunk) {
    const struct omp_thread *t = weft__omp_self();
    *kind = t->sched == 35 ? API_DYNAMIC : t->sched == 36 ? API_GUIDED : API_STATIC;
    *chunk = t->sched_chunk;
}

/* ---- time -------------------------------------------------------------------------------------------------------------- */

API double omp_get_wtime(void) {
    struct timespec ts;
    clock_gettime(CLOCK_MONOTONIC, &ts);
    return (double)ts.tv_sec + (double)ts.tv_nsec * 1e-9;
}
API double omp_get_wtick(void) { return 1e-9; }

/* ---- one league, one device, no places -------------------------------------------------------------------------------------- */

API int omp_get_num_teams(void) { return 1; }
API int omp_get_team_num(void) { return 0; }
API void omp_set_num_teams(int n) {}
API int omp_get_max_teams(void) { return 1; }
API void omp_set_teams_thread_limit(int n) {}
API int omp_get_teams_thread_limit(void) { return omp_get_thread_limit(); }
API int omp_get_num_devices(void) { return 0; }
API int omp_get_initial_device(void) { return 0; }
API int omp_get_device_num(void) { return 0; }
API int omp_get_default_device(void) { return 0; }
API void omp_set_default_device(int n) {}
API int omp_is_initial_device(void) { return 1; }
API int omp_get_proc_bind(void) { return 0; }
API int omp_get_num_places(void) { return 0; }
API int omp_get_place_num_procs(int place) { return 0; }
API void omp_get_place_proc_ids(int place, int *ids) {}
API int omp_get_place_num(void) { return -1; }
API int omp_get_partition_num_places(void) { return 0; }
API void omp_get_partition_place_nums(int *nums) {}
API void omp_display_env(int verbose) {}
API int omp_pause_resource(int kind, int device) { return 0; }
API int omp_pause_resource_all(int kind) { return 0; }

/* ---- memory: one kind, which is aligned as an allocator asks for --------------------------------------------------------------- */

struct trait {
    int key;
    uintptr_t value;
};
struct allocator {
    size_t align;
};
#define PREDEFINED 64 /* handles below are those of <omp.h> */
static __thread uintptr_t default_allocator = 1;

API uintptr_t omp_init_allocator(uintptr_t space, int n, const struct trait *traits) {
    struct allocator *a = weft__omp_alloc(sizeof *a);
    for (int i = 0; i < n; i++)
        if (traits[i].key == 2 && !(traits[i].value & (traits[i].value - 1))) a->align = traits[i].value;
    return (uintptr_t)a;
}
API void omp_destroy_allocator(uintptr_t a) {
    if (a >= PREDEFINED) free((void *)a);
}
API void omp_set_default_allocator(uintptr_t a) { default_allocator = a; }
API uintptr_t omp_get_default_allocator(void) { return default_allocator; }

API void *omp_aligned_alloc(size_t align, size_t size, uintptr_t a) {
    void *p = NULL;
    if (a >= PREDEFINED && ((struct allocator *)a)->align > align) align = ((struct allocator *)a)->align;
    if (!size) return NULL;
    if (align <= 16) return malloc(size);
    return posix_memalign(&p, align, size) ? NULL : p;
}
API void *omp_alloc(size_t size, uintptr_t a) { return omp_aligned_alloc(0, size, a); }
API void *omp_aligned_calloc(size_t align, size_t n, size_t size, uintptr_t a) {
    size_t all;
    if (__builtin_mul_overflow(n, size, &all)) return NULL;
    void *p = omp_aligned_alloc(align, all, a);
    return p ? memset(p, 0, all) : NULL;
}
API void *omp_calloc(size_t n, size_t size, uintptr_t a) { return omp_aligned_calloc(0, n, size, a); }
API void omp_free(void *p, uintptr_t a) { free(p); }
API void *omp_realloc(void *p, size_t size, uintptr_t a, uintptr_t from) {
    if (!size) {
        free(p);
        return NULL;
    }
    void *q = omp_alloc(size, a);
    if (q && p) {
        size_t old = malloc_usable_size(p);
        memcpy(q, p, old < size ? old : size);
        free(p);
    }
    return q;
}
API void *__kmpc_alloc(int32_t gtid, size_t size, uintptr_t a) { return omp_alloc(size, a); }
API void *__kmpc_aligned_alloc(int32_t gtid, size_t align, size_t size, uintptr_t a) { return omp_aligned_alloc(align, size, a); }
API void *__kmpc_calloc(int32_t gtid, size_t n, size_t size, uintptr_t a) { return omp_calloc(n, size, a); }
API void __kmpc_free(int32_t gtid, void *p, uintptr_t a) { free(p); }
