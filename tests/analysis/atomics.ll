; Proves: atomic exchange of pointers, compare-and-swap on a list head.
target datalayout = "e-m:e-p270:32:32-p271:32:32-p272:64:64-i64:64-i128:128-f80:128-n8:16:32:64-S128"
declare i32 @pthread_create(ptr, ptr, ptr, ptr)
declare i32 @pthread_join(i64, ptr)
; EXPECT: run: cmpxchg @head ordered
; EXPECT: run: rmw @head ordered
; EXPECT: run: store %m ordered
; EXPECT: run: load %old ordered
@head = internal global ptr null
declare ptr @malloc(i64)
define internal ptr @run(ptr %arg) {
  %m = call ptr @malloc(i64 16)
  store i64 1, ptr %m
  %r = cmpxchg ptr @head, ptr null, ptr %m seq_cst seq_cst
  %old = atomicrmw xchg ptr @head, ptr null seq_cst
  %v = load i64, ptr %old
  ret ptr null
}
define i32 @main() {
  %t = alloca i64
  %x = call i32 @pthread_create(ptr %t, ptr null, ptr @run, ptr null)
  %y = call i32 @pthread_create(ptr %t, ptr null, ptr @run, ptr null)
  ret i32 0
}
