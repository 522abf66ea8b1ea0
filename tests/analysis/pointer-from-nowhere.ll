; Proves: an integer from outside made into a pointer may be anything that others can see.
target datalayout = "e-m:e-p270:32:32-p271:32:32-p272:64:64-i64:64-i128:128-f80:128-n8:16:32:64-S128"
; EXPECT: main: load %p ordered
; EXPECT: main: load %q ordered
declare i64 @strtoul(ptr, ptr, i32)
define i32 @main(i32 %argc, ptr %argv) {
  %i = call i64 @strtoul(ptr %argv, ptr null, i32 16)
  %p = inttoptr i64 %i to ptr
  %q = load ptr, ptr %p
  %v = load i64, ptr %q
  ret i32 0
}
