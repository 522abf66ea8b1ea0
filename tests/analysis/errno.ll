; Proves: errno and the tables of ctype.h belong to the thread.
target datalayout = "e-m:e-p270:32:32-p271:32:32-p272:64:64-i64:64-i128:128-f80:128-n8:16:32:64-S128"
declare i32 @pthread_create(ptr, ptr, ptr, ptr)
declare i32 @pthread_join(i64, ptr)
; EXPECT: run: load %e tls
; EXPECT: run: load %l constant
; EXPECT: run: load %c constant
declare ptr @__errno_location()
declare ptr @__ctype_b_loc()
define internal ptr @run(ptr %arg) {
  %e = call ptr @__errno_location()
  %v = load i32, ptr %e
  %l = call ptr @__ctype_b_loc()
  %tab = load ptr, ptr %l
  %c = getelementptr inbounds i16, ptr %tab, i64 65
  %b = load i16, ptr %c
  ret ptr null
}
define i32 @main() {
  %t = alloca i64
  %a = call i32 @pthread_create(ptr %t, ptr null, ptr @run, ptr null)
  %b = call i32 @pthread_create(ptr %t, ptr null, ptr @run, ptr null)
  ret i32 0
}
