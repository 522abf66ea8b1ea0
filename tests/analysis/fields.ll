; Proves: fields of one shared struct have their own answers.
target datalayout = "e-m:e-p270:32:32-p271:32:32-p272:64:64-i64:64-i128:128-f80:128-n8:16:32:64-S128"
declare i32 @pthread_create(ptr, ptr, ptr, ptr)
declare i32 @pthread_join(i64, ptr)
; EXPECT: main: store %f0 unwritten
; EXPECT: run: load %r0 unwritten
; EXPECT: run: store %r1 ordered
; EXPECT: main: load %f1 ordered
; EXPECT: main: store %f2 one-thread
%s = type { i32, i32, i64 }
@g = internal global %s zeroinitializer
define internal ptr @run(ptr %arg) {
  %r0 = getelementptr inbounds %s, ptr %arg, i64 0, i32 0
  %v = load i32, ptr %r0
  %r1 = getelementptr inbounds %s, ptr %arg, i64 0, i32 1
  store i32 %v, ptr %r1
  ret ptr null
}
define i32 @main() {
  %t = alloca i64
  %o = alloca %s
  %f0 = getelementptr inbounds i8, ptr %o, i64 0
  store i32 1, ptr %f0
  %a = call i32 @pthread_create(ptr %t, ptr null, ptr @run, ptr %o)
  %b = call i32 @pthread_create(ptr %t, ptr null, ptr @run, ptr %o)
  %f1 = getelementptr inbounds i8, ptr %o, i64 4
  %v = load i32, ptr %f1
  %f2 = getelementptr inbounds i8, ptr %o, i64 8
  store i64 0, ptr %f2
  ret i32 0
}
