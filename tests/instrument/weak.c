// Proves: with plan races and weak locks, a region is entered and left with a look for what it needs, a tick looks behind its cold side, and so does
// what comes behind a call that is not part of the region; accesses that only conflict with those of other regions have no check. A function
// that only regions call does nothing of the kind. Its own regions begin and end where a function is called from elsewhere. Without a profile there is none of this.
// RUN: %clang -O1 -S -emit-llvm %s -o %t.in.ll
// RUN: export WEFT_PLAN=races
// RUN: WEFT_GRANULARITY=region %weft-opt %t.in.ll -o %t.ll
// RUN: FileCheck %s < %t.ll
// RUN: %weft-opt %t.in.ll -o %t.none.ll
// RUN: FileCheck --check-prefix=NONE %s < %t.none.ll
// NONE-NOT: __weft_weak
#include <pthread.h>
static long data[100];
static pthread_barrier_t barrier;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static long below(int i) __attribute__((noinline));
static long below(int i) { return data[i]; }

// CHECK-LABEL: define {{.*}}@by_address(
// CHECK: __weft_tick_cold{{.*}}__weft_weak
// CHECK: load volatile i64, {{.*}}i64 304
// CHECK: store volatile i64 {{[0-9]+}}, {{.*}}i64 304
// CHECK: call void asm {{.*}}leaq 777f(%rip), %rax\0A\09jmpq *__weft_weak
// CHECK-NOT: __weft_miss
// CHECK: store volatile i64 %{{.*}}i64 304
// CHECK: call void asm {{.*}}leaq 777f(%rip), %rax\0A\09jmpq *__weft_weak
// CHECK: ret
long by_address(int i) { return data[i] + data[i + 1]; }

static void *work(void *p) {
    long sum = 0, me = (long)p;
    if (!me)
        for (int i = 0; i < 100; i++) data[i] = sum + i;
    pthread_barrier_wait(&barrier);
    for (int i = 0; i < 100; i++) {
        sum += below(i);
        pthread_mutex_lock(&lock);
        sum += data[i];
        pthread_mutex_unlock(&lock);
    }
    pthread_barrier_wait(&barrier);
    return (void *)sum;
}

// CHECK-LABEL: define {{.*}}@work(
// CHECK: store volatile i64 {{[0-9]+}}, {{.*}}i64 304
// CHECK: call void asm {{.*}}jmpq *__weft_weak
// CHECK: store volatile i64 %{{.*}}i64 304
// CHECK: call void asm {{.*}}jmpq *__weft_weak
// CHECK: call {{.*}}@pthread_barrier_wait
// CHECK: store volatile i64 {{[0-9]+}}, {{.*}}i64 304
// CHECK: call void asm {{.*}}jmpq *__weft_weak
// CHECK: store volatile i64 %{{.*}}i64 304
// CHECK: call void asm {{.*}}jmpq *__weft_weak
// CHECK: call {{.*}}@pthread_barrier_wait
// CHECK: call {{.*}}@below
// CHECK-NOT: call void asm
// CHECK: call {{.*}}@pthread_mutex_lock
// CHECK: call void asm {{.*}}jmpq *__weft_weak
// CHECK-NOT: __weft_miss
// CHECK: call {{.*}}@pthread_mutex_unlock
// CHECK: call void asm {{.*}}jmpq *__weft_weak
// CHECK-LABEL: define {{.*}}@below(
// CHECK-NOT: __weft_miss
// CHECK-NOT: store volatile
// CHECK: ret
long (*address)(int) = by_address;
int main(void) {
    pthread_t t[2];
    pthread_barrier_init(&barrier, 0, 2);
    for (long i = 0; i < 2; i++) pthread_create(&t[i], 0, work, (void *)i);
    for (long i = 0; i < 2; i++) pthread_join(t[i], 0);
    return (int)address(1);
}
