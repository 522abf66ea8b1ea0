; Proves: an index into an array inside a struct stays in that array; one without bounds does not.
target datalayout = "e-m:e-p270:32:32-p271:32:32-p272:64:64-i64:64-i128:128-f80:128-n8:16:32:64-S128"
declare i32 @pthread_create(ptr, ptr, ptr, ptr)
declare i32 @pthread_join(i64, ptr)
; EXPECT: run: store %e ordered
; EXPECT: run: load %n unwritten
; EXPECT: main: store %mn unwritten
; EXPECT: wild: store %w ordered
%s = type { i64, [4 x i64], i64 }
%u = type { i64, [4 x i64], i64 }
define internal void @wild(ptr %p, i64 %i) {
  %q = getelementptr inbounds i8, ptr %p, i64 8
  %w = getelementptr inbounds i64, ptr %q, i64 %i
  store i64 1, ptr %w
  ret void
}
define internal ptr @run(ptr %arg) {
  %n = getelementptr inbounds i8, ptr %arg, i64 40
  %v = load i64, ptr %n
  %e = getelementptr inbounds %s, ptr %arg, i64 0, i32 1, i64 %v
  store i64 1, ptr %e
  ret ptr null
}
define internal ptr @run2(ptr %arg) {
  %m = getelementptr inbounds i8, ptr %arg, i64 40
  %v = load i64, ptr %m
  call void @wild(ptr %arg, i64 %v)
  ret ptr null
}
; EXPECT: run2: load %m ordered
; REJECT: run: load %m ordered
define i32 @main() {
  %t = alloca i64
  %o = alloca %s
  %o2 = alloca %u
  %mn = getelementptr inbounds i8, ptr %o, i64 40
  store i64 1, ptr %mn
  %x = call i32 @pthread_create(ptr %t, ptr null, ptr @run, ptr %o)
  %y = call i32 @pthread_create(ptr %t, ptr null, ptr @run, ptr %o)
  %x2 = call i32 @pthread_create(ptr %t, ptr null, ptr @run2, ptr %o2)
  %y2 = call i32 @pthread_create(ptr %t, ptr null, ptr @run2, ptr %o2)
  ret i32 0
}
