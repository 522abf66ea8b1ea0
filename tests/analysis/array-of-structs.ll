; Proves: elements of an array are one, their fields are not.
target datalayout = "e-m:e-p270:32:32-p271:32:32-p272:64:64-i64:64-i128:128-f80:128-n8:16:32:64-S128"
declare i32 @pthread_create(ptr, ptr, ptr, ptr)
declare i32 @pthread_join(i64, ptr)
; EXPECT: run: load %a unwritten
; EXPECT: run: store %b ordered
; EXPECT: main: store %ma unwritten
; EXPECT: main: load %mb ordered
%s = type { i64, i64 }
@g = internal global [10 x %s] zeroinitializer
define internal ptr @run(ptr %arg) {
  %i = ptrtoint ptr %arg to i64
  %a = getelementptr inbounds [10 x %s], ptr @g, i64 0, i64 %i, i32 0
  %v = load i64, ptr %a
  %b = getelementptr inbounds [10 x %s], ptr @g, i64 0, i64 %i, i32 1
  store i64 %v, ptr %b
  ret ptr null
}
define i32 @main(i32 %argc) {
  %t = alloca i64
  %k = zext i32 %argc to i64
  %ma = getelementptr inbounds %s, ptr @g, i64 %k
  store i64 1, ptr %ma
  %x = call i32 @pthread_create(ptr %t, ptr null, ptr @run, ptr null)
  %y = call i32 @pthread_create(ptr %t, ptr null, ptr @run, ptr null)
  %mb = getelementptr inbounds i8, ptr @g, i64 56
  %v = load i64, ptr %mb
  ret i32 0
}
