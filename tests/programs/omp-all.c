/* Proves: what OpenMP's constructs do is right, natively and recorded, and replays: loops of every schedule and type, ordered, sections, reductions,
 * single, critical, locks, tasks with dependences, groups and reductions, taskloops, nested regions, functions of <omp.h>. */
// RUN: %rr %s %t -fopenmp
#include <omp.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int wrong;
#define MUST(what)                                              \
    do                                                          \
        if (!(what)) {                                          \
            printf("line %d: not so: %s\n", __LINE__, #what); \
            wrong = 1;                                          \
        }                                                       \
    while (0)

#define N 1000
static int hits[N];
static int once(void) { /* each iteration was made once */
    int ok = 1;
    for (int i = 0; i < N; i++) {
        ok &= hits[i] == 1;
        hits[i] = 0;
    }
    return ok;
}
static void hit(int64_t i) { hits[i]++; }

static void loops(void) {
#define ALL(type, lo, hi, step, index)                                 \
    do {                                                               \
        int last = -1;                                                 \
        _Pragma("omp parallel for lastprivate(last) schedule(static) num_threads(4)") for (type i = (lo); i < (hi); i += (step)) { hit(index); last = (int)(index); } \
        MUST(once() && last == N - 1);                                 \
        _Pragma("omp parallel for lastprivate(last) schedule(static, 7) num_threads(4)") for (type i = (lo); i < (hi); i += (step)) { hit(index); last = (int)(index); } \
        MUST(once() && last == N - 1);                                 \
        _Pragma("omp parallel for lastprivate(last) schedule(dynamic) num_threads(4)") for (type i = (lo); i < (hi); i += (step)) { hit(index); last = (int)(index); } \
        MUST(once() && last == N - 1);                                 \
        _Pragma("omp parallel for lastprivate(last) schedule(dynamic, 13) num_threads(3)") for (type i = (lo); i < (hi); i += (step)) { hit(index); last = (int)(index); } \
        MUST(once() && last == N - 1);                                 \
        _Pragma("omp parallel for lastprivate(last) schedule(guided, 5) num_threads(4)") for (type i = (lo); i < (hi); i += (step)) { hit(index); last = (int)(index); } \
        MUST(once() && last == N - 1);                                 \
        _Pragma("omp parallel for lastprivate(last) schedule(auto) num_threads(5)") for (type i = (lo); i < (hi); i += (step)) { hit(index); last = (int)(index); } \
        MUST(once() && last == N - 1);                                 \
        _Pragma("omp parallel for lastprivate(last) schedule(runtime) num_threads(4)") for (type i = (lo); i < (hi); i += (step)) { hit(index); last = (int)(index); } \
        MUST(once() && last == N - 1);                                 \
    } while (0)
    ALL(int, 0, N, 1, i);
    ALL(int, -500, 1500, 2, (i + 500) / 2);
    ALL(unsigned, 4294966295u, 4294967295u, 1u, i - 4294966295u);
    ALL(int64_t, INT64_MIN, INT64_MIN + 3 * N, 3, (i - INT64_MIN) / 3);
    ALL(uint64_t, UINT64_MAX - 5 * N, UINT64_MAX - 4, 5u, (i - (UINT64_MAX - 5 * N)) / 5);
    omp_set_schedule(omp_sched_dynamic, 9);
    ALL(short, 0, N, 1, i);
    omp_set_schedule(omp_sched_guided, 2);
    ALL(long, 10, N + 10, 1, i - 10);
    omp_set_schedule(omp_sched_static, 3);
    ALL(int, 0, N, 1, i);
#pragma omp parallel for schedule(dynamic, 3) num_threads(4)
    for (int i = N - 1; i >= 0; i--) hit(i);
    MUST(once());
#pragma omp parallel for schedule(static, 3) num_threads(4)
    for (int64_t i = N * 7; i > 0; i -= 7) hit(i / 7 - 1);
    MUST(once());
#pragma omp parallel for collapse(3) schedule(guided) num_threads(4)
    for (int i = 0; i < 10; i++)
        for (int j = 0; j < 20; j++)
            for (int k = 0; k < 5; k++) hit((i * 20 + j) * 5 + k);
    MUST(once());
    /* a region within the loop has loops of its own */
#pragma omp parallel for schedule(dynamic, 3) num_threads(4)
    for (int i = 0; i < N; i++) {
        int inner = 0;
#pragma omp parallel for schedule(dynamic, 2) reduction(+ : inner)
        for (int j = 0; j < 5; j++) inner++;
        if (inner == 5) hit(i);
    }
    MUST(once());
    /* none, one, fewer than threads; and many in a row that nobody waits behind */
    int none = 0, few = 0, sum = 0;
#pragma omp parallel num_threads(4) reduction(+ : none, few, sum)
    {
#pragma omp for schedule(dynamic) nowait
        for (int i = 5; i < 5; i++) none++;
#pragma omp for schedule(static, 2) nowait
        for (int i = 5; i < 4; i++) none++;
#pragma omp for schedule(guided) nowait
        for (int i = 0; i < 2; i++) few++;
#pragma omp for schedule(static) nowait
        for (int i = 0; i < 1; i++) few++;
        for (int k = 0; k < 40; k++) {
#pragma omp for schedule(dynamic, 2) nowait
            for (int i = 0; i < 10; i++) sum += i;
        }
    }
    MUST(none == 0 && few == 3 && sum == 40 * 45);
}

static void ordered(void) {
    static int order[N];
    int n = 0;
#pragma omp parallel for ordered schedule(dynamic, 3) num_threads(4)
    for (int i = 0; i < 200; i++) {
        hits[i]++;
#pragma omp ordered
        order[n++] = i;
    }
    for (int i = 0; i < 200; i++) MUST(order[i] == i);
    n = 0;
#pragma omp parallel for ordered schedule(static) num_threads(3)
    for (int i = 0; i < 100; i++) {
        if (i % 3) continue; /* some have no such part */
#pragma omp ordered
        order[n++] = i;
    }
    for (int i = 0; i < n; i++) MUST(order[i] == 3 * i);
    MUST(n == 34);
    memset(hits, 0, sizeof hits);
}

static int grid[40][50];
static void crosses(void) {
    for (int k = 0; k < 12; k++) {
#pragma omp parallel for ordered(2) schedule(static, 1) num_threads(4)
        for (int i = 0; i < 40; i++)
            for (int j = 0; j < 50; j++) {
#pragma omp ordered depend(sink : i - 1, j) depend(sink : i, j - 1)
                grid[i][j] = 1 + (i ? grid[i - 1][j] : 0) + (j ? grid[i][j - 1] : 0) % 100;
#pragma omp ordered depend(source)
            }
    }
    for (int i = 0; i < 40; i++)
        for (int j = 0; j < 50; j++) MUST(grid[i][j] == 1 + (i ? grid[i - 1][j] : 0) + (j ? grid[i][j - 1] : 0) % 100);
}

struct complex { double re, im; };
#pragma omp declare reduction(add : struct complex : omp_out.re += omp_in.re, omp_out.im += omp_in.im) initializer(omp_priv = (struct complex){0, 0})

static void reductions(void) {
    long s = 0, p = 1;
    int mx = -1, mn = 1 << 30, all = ~0, any = 0, both = 1;
    double d = 0;
    struct complex c = {0, 0};
    long array[5] = {0};
#pragma omp parallel for num_threads(4) reduction(+ : s, d) reduction(* : p) reduction(max : mx) reduction(min : mn) reduction(& : all) reduction(| : any) reduction(&& : both) reduction(add : c) reduction(+ : array[ : 5])
    for (int i = 1; i <= 20; i++) {
        s += i;
        d += i * 0.5;
        p *= i;
        mx = i > mx ? i : mx;
        mn = i < mn ? i : mn;
        all &= ~i;
        any |= i;
        both = both && i;
        c.re += i;
        c.im -= i;
        array[i % 5] += i;
    }
    MUST(s == 210 && d == 105 && p == 2432902008176640000 && mx == 20 && mn == 1 && any == 31 && all == ~31 && both);
    MUST(c.re == 210 && c.im == -210 && array[0] == 50 && array[4] == 46);
}

static int mine = 7;
#pragma omp threadprivate(mine)

static void regions(void) {
    int in = 0, master = 0, single = 0, got[8] = {0}, parts[3] = {0};
    MUST(omp_get_num_threads() == 1 && omp_get_thread_num() == 0 && !omp_in_parallel() && omp_get_level() == 0);
    mine = 11;
#pragma omp parallel num_threads(6) copyin(mine)
    {
        int v = 0;
        MUST(omp_get_num_threads() == 6 && omp_in_parallel() && omp_get_level() == 1 && omp_get_active_level() == 1);
        MUST(mine == 11);
        mine += omp_get_thread_num();
#pragma omp atomic
        in++;
#pragma omp barrier
        MUST(in == 6);
#pragma omp master
        master++;
#pragma omp masked filter(2)
        MUST(omp_get_thread_num() == 2);
#pragma omp single copyprivate(v)
        {
            v = 42;
            single++;
        }
        got[omp_get_thread_num()] = v;
#pragma omp single nowait
        single++;
#pragma omp sections
        {
#pragma omp section
            parts[0]++;
#pragma omp section
            parts[1]++;
#pragma omp section
            parts[2]++;
        }
#pragma omp for nowait
        for (int i = 0; i < 6; i++)
#pragma omp critical(two)
            in--;
    }
    MUST(in == 0 && master == 1 && single == 2 && parts[0] == 1 && parts[1] == 1 && parts[2] == 1);
    for (int i = 0; i < 6; i++) MUST(got[i] == 42);
    int kept = 0; /* threadprivate: the same threads again */
#pragma omp parallel num_threads(6) reduction(+ : kept)
    kept += mine == 11 + omp_get_thread_num();
    MUST(kept == 6);

    int inner = 0, size = 0;
    omp_set_max_active_levels(2);
#pragma omp parallel num_threads(2) reduction(+ : inner, size)
    {
        int outer = omp_get_thread_num();
#pragma omp parallel num_threads(3) reduction(+ : inner, size)
        {
            inner++;
            MUST(omp_get_level() == 2 && omp_get_ancestor_thread_num(1) == outer && omp_get_team_size(1) == 2 && omp_get_team_size(2) == 3);
#pragma omp parallel num_threads(4) reduction(+ : size)
            size += omp_get_num_threads() == 1;
        }
    }
    MUST(inner == 6 && size == 6);
    omp_set_max_active_levels(1);
#pragma omp parallel num_threads(4) if (in)
    MUST(omp_get_num_threads() == 1 && omp_get_level() == 1);
    omp_set_num_threads(3);
    MUST(omp_get_max_threads() == 3);
#pragma omp parallel
    MUST(omp_get_num_threads() == 3);

    /* more variables than fit into registers, and more than that */
    int a0 = 0, a1 = 1, a2 = 2, a3 = 3, a4 = 4, a5 = 5, a6 = 6, a7 = 7, a8 = 8, a9 = 9, b0 = 10, b1 = 11, b2 = 12, b3 = 13, b4 = 14, b5 = 15, b6 = 16, b7 = 17, b8 = 18;
#pragma omp parallel num_threads(2)
#pragma omp critical
    {
        a0++, a1++, a2++, a3++, a4++, a5++, a6++, a7++, a8++, a9++, b0++, b1++, b2++, b3++, b4++, b5++, b6++, b7++, b8++;
    }
    MUST(a0 + a1 + a2 + a3 + a4 + a5 + a6 + a7 + a8 + a9 + b0 + b1 + b2 + b3 + b4 + b5 + b6 + b7 + b8 == 171 + 38);
    int teams = 0;
#pragma omp teams distribute parallel for num_teams(4) reduction(+ : teams)
    for (int i = 0; i < 100; i++) teams += i;
    MUST(teams == 4950);
}

static void locks(void) {
    omp_lock_t l;
    omp_nest_lock_t n;
    int a = 0, b = 0;
    omp_init_lock(&l);
    omp_init_nest_lock(&n);
#pragma omp parallel num_threads(4)
    for (int i = 0; i < 50; i++) {
        omp_set_lock(&l);
        a++;
        omp_unset_lock(&l);
        while (!omp_test_lock(&l)) usleep(1);
        a++;
        omp_unset_lock(&l);
        omp_set_nest_lock(&n);
        MUST(omp_test_nest_lock(&n) == 2);
        b++;
        omp_unset_nest_lock(&n);
        omp_unset_nest_lock(&n);
    }
    MUST(a == 400 && b == 200);
    omp_destroy_lock(&l);
    omp_destroy_nest_lock(&n);
}

static int fib(int n) {
    int a, b;
    if (n < 2) return n;
#pragma omp task shared(a) firstprivate(n) final(n < 4) mergeable
    a = fib(n - 1);
#pragma omp task shared(b) untied
    b = fib(n - 2);
#pragma omp taskwait
    return a + b;
}

static void tasks(void) {
    int f = 0, done = 0, chain = 0, x = 0, y = 0, sum = 0, detached = 0;
#pragma omp parallel num_threads(4)
#pragma omp single
    f = fib(12);
    MUST(f == 144);
#pragma omp parallel num_threads(4)
#pragma omp single nowait
    for (int i = 0; i < 700; i++)
#pragma omp task
#pragma omp atomic
        done++;
    MUST(done == 700);
#pragma omp parallel num_threads(4)
#pragma omp master
    {
        for (int i = 0; i < 50; i++) {
#pragma omp task depend(inout : chain) firstprivate(i)
            chain = chain == i ? i + 1 : -1000;
        }
#pragma omp task depend(out : x)
        x = 1;
#pragma omp task depend(in : x) depend(out : y)
        y = x + 1;
#pragma omp task depend(in : x, y) if (0)
        MUST(x == 1 && y == 2);
#pragma omp task depend(mutexinoutset : y)
        y += 10;
#pragma omp task depend(mutexinoutset : y)
        y += 100;
#pragma omp taskwait depend(in : y)
        MUST(y == 112);
#pragma omp taskwait
        MUST(chain == 50);
        int in = 0;
#pragma omp taskgroup
        {
            for (int i = 0; i < 20; i++) {
#pragma omp task shared(in)
                {
#pragma omp task shared(in)
#pragma omp atomic
                    in++;
                }
            }
        }
        MUST(in == 20);
#pragma omp taskyield
#pragma omp taskloop grainsize(7) firstprivate(in)
        for (int i = 0; i < N; i++) hit(i + 0 * in);
        MUST(once());
#pragma omp taskloop num_tasks(9) reduction(+ : sum)
        for (unsigned long i = 100; i > 0; i -= 5) sum += (int)i;
        MUST(sum == 1050);
#pragma omp taskloop collapse(2) nogroup
        for (int i = 0; i < 20; i++)
            for (int j = 0; j < 50; j++) hit(i * 50 + j);
#pragma omp taskwait
        MUST(once());
        int t = 5;
#pragma omp taskgroup task_reduction(+ : t)
        for (int i = 1; i <= 10; i++)
#pragma omp task in_reduction(+ : t) firstprivate(i)
            t += i;
        MUST(t == 60);
        omp_event_handle_t event;
#pragma omp task detach(event) firstprivate(event) shared(detached)
        {
            detached = 1;
#pragma omp task firstprivate(event) shared(detached)
            {
                detached++;
                omp_fulfill_event(event);
            }
        }
#pragma omp taskwait
        MUST(detached == 2);
    }
    int r = 0;
#pragma omp parallel num_threads(4) reduction(task, + : r)
    {
#pragma omp task in_reduction(+ : r)
        r += 10;
        r++;
    }
    MUST(r == 44);
    MUST(!omp_in_final() && !omp_get_cancellation());
}

static void memory(void) {
    char *p = omp_alloc(100, omp_default_mem_alloc), *q = omp_aligned_alloc(256, 512, omp_null_allocator);
    memset(p, 7, 100);
    MUST(q && (uintptr_t)q % 256 == 0);
    p = omp_realloc(p, 5000, omp_default_mem_alloc, omp_default_mem_alloc);
    MUST(p && p[0] == 7 && p[99] == 7);
    omp_free(p, omp_default_mem_alloc);
    omp_free(q, omp_null_allocator);
    MUST(omp_get_wtime() >= 0 && omp_get_num_procs() > 0 && omp_get_thread_limit() > 0);
}

int main(void) {
    loops();
    ordered();
    crosses();
    reductions();
    regions();
    locks();
    tasks();
    memory();
    puts(wrong ? "wrong" : "all is so");
    return wrong;
}
