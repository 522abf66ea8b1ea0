; Proves: an exception object reaches the landing pad of the same thread.
target datalayout = "e-m:e-p270:32:32-p271:32:32-p272:64:64-i64:64-i128:128-f80:128-n8:16:32:64-S128"
declare i32 @pthread_create(ptr, ptr, ptr, ptr)
declare i32 @pthread_join(i64, ptr)
; EXPECT: f: store %e local
; EXPECT: run: load %q ordered
declare ptr @__cxa_allocate_exception(i64)
declare void @__cxa_throw(ptr, ptr, ptr)
declare ptr @__cxa_begin_catch(ptr)
declare void @__cxa_end_catch()
declare i32 @__gxx_personality_v0(...)
define internal void @f() {
  %e = call ptr @__cxa_allocate_exception(i64 8)
  store i64 1, ptr %e
  call void @__cxa_throw(ptr %e, ptr null, ptr null)
  unreachable
}
define internal ptr @run(ptr %arg) personality ptr @__gxx_personality_v0 {
  invoke void @f() to label %ok unwind label %pad
ok:
  ret ptr null
pad:
  %l = landingpad { ptr, i32 } catch ptr null
  %o = extractvalue { ptr, i32 } %l, 0
  %q = call ptr @__cxa_begin_catch(ptr %o)
  %v = load i64, ptr %q
  call void @__cxa_end_catch()
  ret ptr null
}
define i32 @main() {
  %t = alloca i64
  %a = call i32 @pthread_create(ptr %t, ptr null, ptr @run, ptr null)
  %b = call i32 @pthread_create(ptr %t, ptr null, ptr @run, ptr null)
  ret i32 0
}
