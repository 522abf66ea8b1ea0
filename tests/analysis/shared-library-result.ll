; Proves: what an exported function returns is out of our hands; what it keeps to itself is not.
; OPTIONS: shared-library
target datalayout = "e-m:e-p270:32:32-p271:32:32-p272:64:64-i64:64-i128:128-f80:128-n8:16:32:64-S128"
; EXPECT: make: store %m ordered
; EXPECT: make: store %n local
declare ptr @malloc(i64)
define ptr @make() {
  %m = call ptr @malloc(i64 8)
  store i64 1, ptr %m
  %n = call ptr @malloc(i64 8)
  store i64 1, ptr %n
  ret ptr %m
}
