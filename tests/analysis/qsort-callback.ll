; Proves: a comparator is called back by qsort, with pointers into the array, and may come back to the caller.
target datalayout = "e-m:e-p270:32:32-p271:32:32-p272:64:64-i64:64-i128:128-f80:128-n8:16:32:64-S128"
declare i32 @pthread_create(ptr, ptr, ptr, ptr)
declare i32 @pthread_join(i64, ptr)
; EXPECT: cmp: load %a ordered
; EXPECT: run: store %m ordered
; EXPECT: function cmp taken
; EXPECT: run: call qsort
; EXPECT: again: call qsort reenter
; EXPECT: cmp2: load %a local
; EXPECT: run: store %n local
@g = internal global ptr null
declare ptr @malloc(i64)
declare void @qsort(ptr, i64, i64, ptr)
define internal i32 @cmp(ptr %a, ptr %b) {
  %v = load i32, ptr %a
  ret i32 %v
}
define internal i32 @cmp2(ptr %a, ptr %b) {
  %v = load i32, ptr %a
  ret i32 %v
}
define internal i32 @cmp3(ptr %a, ptr %b) {
  call void @again(ptr %a)
  ret i32 0
}
define internal void @again(ptr %x) {
  call void @qsort(ptr %x, i64 4, i64 4, ptr @cmp3)
  ret void
}
define internal ptr @run(ptr %arg) {
  %m = call ptr @malloc(i64 40)
  store ptr %m, ptr @g
  store i32 1, ptr %m
  call void @qsort(ptr %m, i64 10, i64 4, ptr @cmp)
  %n = call ptr @malloc(i64 40)
  store i32 1, ptr %n
  call void @qsort(ptr %n, i64 10, i64 4, ptr @cmp2)
  call void @again(ptr %n)
  ret ptr null
}
define i32 @main() {
  %t = alloca i64
  %x = call i32 @pthread_create(ptr %t, ptr null, ptr @run, ptr null)
  %y = call i32 @pthread_create(ptr %t, ptr null, ptr @run, ptr null)
  ret i32 0
}
