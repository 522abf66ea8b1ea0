; Proves: a load that is tagged as a number gets pointers that are stored as numbers, and none that are stored as pointers.
target datalayout = "e-m:e-p270:32:32-p271:32:32-p272:64:64-i64:64-i128:128-f80:128-n8:16:32:64-S128"
declare i32 @pthread_create(ptr, ptr, ptr, ptr)
declare ptr @malloc(i64)
; EXPECT: run: store %p ordered
; EXPECT: run: store %n local
; EXPECT: main: store %m ordered
@slots = internal global [4 x i64] zeroinitializer
@g = internal global ptr null
@shared = internal global i64 0
define internal ptr @run(ptr %arg) {
  %s = getelementptr inbounds [4 x i64], ptr @slots, i64 0, i64 1
  %i = load i64, ptr %s, !tbaa !3
  %p = inttoptr i64 %i to ptr
  store i64 1, ptr %p
  %n = call ptr @malloc(i64 16)
  store ptr %n, ptr %n, !tbaa !1
  %w = load i64, ptr %n, !tbaa !3
  store i64 %w, ptr @shared, !tbaa !3
  ret ptr null
}
define i32 @main() {
  %t = alloca i64
  %m = call ptr @malloc(i64 8)
  %i = ptrtoint ptr %m to i64
  store i64 %i, ptr @slots
  %x = call i32 @pthread_create(ptr %t, ptr null, ptr @run, ptr null)
  %y = call i32 @pthread_create(ptr %t, ptr null, ptr @run, ptr null)
  store i64 1, ptr %m
  ret i32 0
}
!0 = !{!"Simple C/C++ TBAA"}
!1 = !{!2, !2, i64 0}
!2 = !{!"any pointer", !5, i64 0}
!3 = !{!4, !4, i64 0}
!4 = !{!"long", !5, i64 0}
!5 = !{!"omnipotent char", !0, i64 0}
