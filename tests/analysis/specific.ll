; Proves: what pthread_setspecific keeps belongs to the thread, and its destructor gets it; unless the key is given away.
target datalayout = "e-m:e-p270:32:32-p271:32:32-p272:64:64-i64:64-i128:128-f80:128-n8:16:32:64-S128"
declare i32 @pthread_create(ptr, ptr, ptr, ptr)
declare i32 @pthread_key_create(ptr, ptr)
declare i32 @pthread_setspecific(i32, ptr)
declare ptr @pthread_getspecific(i32)
declare ptr @malloc(i64)
; EXPECT: run: store %m local
; EXPECT: run: load %q local
; EXPECT: end: load %p local
; EXPECT: function end taken
@key = internal global i32 0
define internal void @end(ptr %p) {
  %v = load i64, ptr %p
  ret void
}
define internal ptr @run(ptr %arg) {
  %k = load i32, ptr @key
  %m = call ptr @malloc(i64 8)
  store i64 1, ptr %m
  %s = call i32 @pthread_setspecific(i32 %k, ptr %m)
  %q = call ptr @pthread_getspecific(i32 %k)
  %v = load i64, ptr %q
  ret ptr null
}
define i32 @main() {
  %t = alloca i64
  %c = call i32 @pthread_key_create(ptr @key, ptr @end)
  %x = call i32 @pthread_create(ptr %t, ptr null, ptr @run, ptr null)
  %y = call i32 @pthread_create(ptr %t, ptr null, ptr @run, ptr null)
  ret i32 0
}
