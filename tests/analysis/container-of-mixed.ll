; Proves: container_of over a list whose head is a global of its own: the head's neighbours are not involved.
target datalayout = "e-m:e-p270:32:32-p271:32:32-p272:64:64-i64:64-i128:128-f80:128-n8:16:32:64-S128"
declare i32 @pthread_create(ptr, ptr, ptr, ptr)
declare i32 @pthread_join(i64, ptr)
; EXPECT: run: store %s ordered
; EXPECT: main: store @other unwritten
; EXPECT: run: load @other unwritten
@head = internal global ptr @head
@other = internal global i64 0
declare ptr @malloc(i64)
define internal ptr @run(ptr %arg) {
  %p = load ptr, ptr @head
  %s = getelementptr inbounds i8, ptr %p, i64 -8
  store i64 1, ptr %s
  %o = load i64, ptr @other
  ret ptr null
}
define i32 @main() {
  %t = alloca i64
  store i64 3, ptr @other
  %a = call i32 @pthread_create(ptr %t, ptr null, ptr @run, ptr null)
  %b = call i32 @pthread_create(ptr %t, ptr null, ptr @run, ptr null)
  %m = call ptr @malloc(i64 16)
  %l = getelementptr inbounds i8, ptr %m, i64 8
  store ptr @head, ptr %l
  store ptr %l, ptr @head
  ret i32 0
}
