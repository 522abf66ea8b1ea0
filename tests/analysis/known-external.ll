; Proves: functions of the table touch what they say and keep nothing.
target datalayout = "e-m:e-p270:32:32-p271:32:32-p272:64:64-i64:64-i128:128-f80:128-n8:16:32:64-S128"
declare i32 @pthread_create(ptr, ptr, ptr, ptr)
declare i32 @pthread_join(i64, ptr)
; EXPECT: run: call strlen arg 0 %x local
; EXPECT: run: call strlen
; EXPECT: run: call snprintf arg 0 %x local
; EXPECT: run: call snprintf arg 2 @fmt constant
; EXPECT: run: call snprintf arg 3 @name ordered
; EXPECT: run: store %x local
; EXPECT: run: call fread arg 0 %x local
; EXPECT: main: store @name ordered
@fmt = internal constant [3 x i8] c"%s\00"
@name = internal global [8 x i8] zeroinitializer
declare i64 @strlen(ptr)
declare i32 @snprintf(ptr, i64, ptr, ...)
declare i64 @fread(ptr, i64, i64, ptr)
define internal ptr @run(ptr %arg) {
  %x = alloca [32 x i8]
  store i8 0, ptr %x
  %n = call i64 @strlen(ptr %x)
  %s = call i32 (ptr, i64, ptr, ...) @snprintf(ptr %x, i64 32, ptr @fmt, ptr @name)
  %r = call i64 @fread(ptr %x, i64 1, i64 32, ptr null)
  ret ptr null
}
define i32 @main() {
  %t = alloca i64
  %a = call i32 @pthread_create(ptr %t, ptr null, ptr @run, ptr null)
  store i8 65, ptr @name
  ret i32 0
}
