; Proves: each call of a function that allocates is an allocation site of its own, through two levels, with its own size.
target datalayout = "e-m:e-p270:32:32-p271:32:32-p272:64:64-i64:64-i128:128-f80:128-n8:16:32:64-S128"
declare i32 @pthread_create(ptr, ptr, ptr, ptr)
declare ptr @malloc(i64)
declare void @exit(i32) noreturn
declare void @llvm.memset.p0.i64(ptr, i8, i64, i1)
; EXPECT: run: store %a ordered
; EXPECT: run: store %b local
; EXPECT: run: store %c local
; EXPECT: run: store %d ordered
; EXPECT: run: store %e ordered
@g = internal global ptr null
@h = internal global ptr null
@k = internal global ptr null
define internal ptr @xmalloc(i64 %n) {
  %p = call ptr @malloc(i64 %n)
  %z = icmp eq ptr %p, null
  br i1 %z, label %bad, label %ok
bad:
  call void @exit(i32 1)
  unreachable
ok:
  ret ptr %p
}
define internal ptr @xzalloc(i64 %n) {
  %p = call ptr @xmalloc(i64 %n)
  call void @llvm.memset.p0.i64(ptr %p, i8 0, i64 %n, i1 false)
  ret ptr %p
}
define internal ptr @keeps(i64 %n) {
  %p = call ptr @xmalloc(i64 %n)
  store ptr %p, ptr @h
  ret ptr %p
}
define internal ptr @sometimes(i64 %n) {
  %c = icmp eq i64 %n, 0
  br i1 %c, label %old, label %new
old:
  %o = load ptr, ptr @k
  ret ptr %o
new:
  %p = call ptr @malloc(i64 %n)
  ret ptr %p
}
define internal ptr @run(ptr %arg) {
  %a = call ptr @xmalloc(i64 8)
  store i64 1, ptr %a
  store ptr %a, ptr @g
  %b = call ptr @xmalloc(i64 8)
  store i64 1, ptr %b
  %c = call ptr @xzalloc(i64 8)
  store i64 1, ptr %c
  %d = call ptr @keeps(i64 8)
  store i64 1, ptr %d
  %e = call ptr @sometimes(i64 8)
  store i64 1, ptr %e
  store ptr %a, ptr @k
  ret ptr null
}
define i32 @main() {
  %t = alloca i64
  %x = call i32 @pthread_create(ptr %t, ptr null, ptr @run, ptr null)
  %y = call i32 @pthread_create(ptr %t, ptr null, ptr @run, ptr null)
  ret i32 0
}
