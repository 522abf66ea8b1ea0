; Proves: a function that creates a thread and is called twice makes two; one called once makes one.
target datalayout = "e-m:e-p270:32:32-p271:32:32-p272:64:64-i64:64-i128:128-f80:128-n8:16:32:64-S128"
declare i32 @pthread_create(ptr, ptr, ptr, ptr)
declare i32 @pthread_join(i64, ptr)
; EXPECT: twice: store @g ordered
; EXPECT: once: store @h one-thread
@g = internal global i64 0
@h = internal global i64 0
define internal ptr @twice(ptr %arg) {
  store i64 1, ptr @g
  ret ptr null
}
define internal ptr @once(ptr %arg) {
  store i64 1, ptr @h
  ret ptr null
}
define internal void @spawn2() {
  %t = alloca i64
  %a = call i32 @pthread_create(ptr %t, ptr null, ptr @twice, ptr null)
  ret void
}
define internal void @spawn1() {
  %t = alloca i64
  %a = call i32 @pthread_create(ptr %t, ptr null, ptr @once, ptr null)
  ret void
}
define i32 @main() {
  call void @spawn2()
  call void @spawn2()
  call void @spawn1()
  ret i32 0
}
