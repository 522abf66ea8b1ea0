; Proves: a start routine chosen through a pointer in a struct.
target datalayout = "e-m:e-p270:32:32-p271:32:32-p272:64:64-i64:64-i128:128-f80:128-n8:16:32:64-S128"
declare i32 @pthread_create(ptr, ptr, ptr, ptr)
declare i32 @pthread_join(i64, ptr)
; EXPECT: work: store @g ordered
; EXPECT: function work taken
@g = internal global i64 0
define internal ptr @work(ptr %arg) {
  store i64 1, ptr @g
  ret ptr null
}
define internal void @spawn(ptr %job) {
  %t = alloca i64
  %f = load ptr, ptr %job
  %q = getelementptr inbounds i8, ptr %job, i64 8
  %a = load ptr, ptr %q
  %x = call i32 @pthread_create(ptr %t, ptr null, ptr %f, ptr %a)
  ret void
}
define i32 @main() {
  %job = alloca { ptr, ptr }
  store ptr @work, ptr %job
  call void @spawn(ptr %job)
  call void @spawn(ptr %job)
  ret i32 0
}
