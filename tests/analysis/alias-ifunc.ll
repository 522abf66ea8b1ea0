; Proves: aliases and ifuncs lead to what they stand for.
target datalayout = "e-m:e-p270:32:32-p271:32:32-p272:64:64-i64:64-i128:128-f80:128-n8:16:32:64-S128"
declare i32 @pthread_create(ptr, ptr, ptr, ptr)
declare i32 @pthread_join(i64, ptr)
; EXPECT: run: store @a ordered
; EXPECT: main: load @g ordered
; EXPECT: fast: store @h ordered
@g = internal global i64 0
@h = internal global i64 0
@a = internal alias i64, ptr @g
@i = internal ifunc void (), ptr @resolve
define internal void @fast() {
  store i64 1, ptr @h
  ret void
}
define internal ptr @resolve() {
  ret ptr @fast
}
define internal ptr @run(ptr %arg) {
  store i64 1, ptr @a
  call void @i()
  ret ptr null
}
define i32 @main() {
  %t = alloca i64
  %x = call i32 @pthread_create(ptr %t, ptr null, ptr @run, ptr null)
  %v = load i64, ptr @g
  call void @i()
  ret i32 0
}
