; Proves: objects reachable through several links of a shared list are shared.
target datalayout = "e-m:e-p270:32:32-p271:32:32-p272:64:64-i64:64-i128:128-f80:128-n8:16:32:64-S128"
declare i32 @pthread_create(ptr, ptr, ptr, ptr)
declare i32 @pthread_join(i64, ptr)
; EXPECT: run: load %q ordered
; EXPECT: main: store %b ordered
@head = internal global ptr null
declare ptr @malloc(i64)
define internal ptr @run(ptr %arg) {
entry:
  %h = load ptr, ptr @head
  br label %loop
loop:
  %q = phi ptr [ %h, %entry ], [ %n, %loop ]
  %n = load ptr, ptr %q
  %c = icmp eq ptr %n, null
  br i1 %c, label %done, label %loop
done:
  ret ptr null
}
define i32 @main() {
  %t = alloca i64
  %x = call i32 @pthread_create(ptr %t, ptr null, ptr @run, ptr null)
  %a = call ptr @malloc(i64 16)
  %b = call ptr @malloc(i64 16)
  %c = call ptr @malloc(i64 16)
  store ptr null, ptr %c
  store ptr %c, ptr %b
  store ptr %b, ptr %a
  store ptr %a, ptr @head
  ret i32 0
}
