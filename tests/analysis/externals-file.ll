; Proves: entries of a file are used and come before those of the table.
target datalayout = "e-m:e-p270:32:32-p271:32:32-p272:64:64-i64:64-i128:128-f80:128-n8:16:32:64-S128"
; OPTIONS: externals=externals-file.def
; EXPECT: main: call mystery_file arg 0 %x local
; EXPECT: main: call mystery_file
; EXPECT: main: store %x local
declare void @mystery_file(ptr)
define i32 @main() {
  %x = alloca i64
  store i64 1, ptr %x
  call void @mystery_file(ptr %x)
  ret i32 0
}
