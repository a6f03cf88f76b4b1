; As LLVM 14 writes it: pointers have an element type, casts between them are written out.
source_filename = "stack.c"
target datalayout = "e-m:e-p270:32:32-p271:32:32-p272:64:64-i64:64-f80:128-n8:16:32:64-S128"
target triple = "x86_64-pc-linux-gnu"

%struct.node = type { i32, %struct.node*, %union.tag }
%union.tag = type { i64 }
%struct.ops = type { %struct.node* (%struct.node*, i32)*, void (...)* }
%struct.hidden = type opaque

$pick = comdat any

@head = internal global %struct.node* null, align 8
@pool = dso_local global [4 x %struct.node] zeroinitializer, align 16
@ops = dso_local constant %struct.ops { %struct.node* (%struct.node*, i32)* @push, void (...)* bitcast (i32 ()* @main to void (...)*) }, align 8
@second = dso_local global i8* bitcast (i32* getelementptr inbounds ([4 x %struct.node], [4 x %struct.node]* @pool, i64 0, i64 1, i32 0) to i8*), align 8
@secret = external global %struct.hidden
@.str = private unnamed_addr constant [7 x i8] c"a\22b\\c\0A\00", align 1
@big = dso_local global i128 -170141183460469231731687303715884105728, align 16
@half = dso_local global [3 x float] [float 5.000000e-01, float 0x3FB99999A0000000, float 0x7FF8000000000000]
@long = dso_local global x86_fp80 0xK4000C000000000000000, align 16
@distance = dso_local global i64 sub (i64 ptrtoint (i32** @field to i64), i64 ptrtoint (%struct.node** @head to i64))
@field = dso_local global i32* null
@weak = weak global i32 7, align 4
@common = common global i32 0, align 4
@tls = thread_local(initialexec) global i32 3, align 4
@alias = dso_local alias i32 (), i32 ()* @main
@packed = global <{ i8, i32 }> <{ i8 1, i32 2 }>, align 1

define dso_local %struct.node* @push(%struct.node* noundef %0, i32 noundef %1) #0 {
  %3 = alloca %struct.node*, align 8
  %4 = alloca { i64, i8 }, align 8
  store %struct.node* %0, %struct.node** %3, align 8
  %5 = load %struct.node*, %struct.node** %3, align 8
  %6 = getelementptr inbounds %struct.node, %struct.node* %5, i32 0, i32 0
  store i32 %1, i32* %6, align 8
  br label %7

7:                                                ; preds = %7, %2
  %8 = load atomic i64, i64* bitcast (%struct.node** @head to i64*) monotonic, align 8
  %9 = inttoptr i64 %8 to %struct.node*
  %10 = getelementptr inbounds %struct.node, %struct.node* %5, i32 0, i32 1
  store %struct.node* %9, %struct.node** %10, align 8
  %11 = ptrtoint %struct.node* %5 to i64
  %12 = cmpxchg weak i64* bitcast (%struct.node** @head to i64*), i64 %8, i64 %11 release monotonic, align 8
  %13 = extractvalue { i64, i1 } %12, 0
  %14 = extractvalue { i64, i1 } %12, 1
  br i1 %14, label %15, label %7

15:
  ret %struct.node* %5
}

define linkonce_odr dso_local i32 @pick(i32 (i32)* %f, i32 %n) #1 comdat align 2 {
entry:
  switch i32 %n, label %other [
    i32 0, label %zero
    i32 -1, label %minus
  ]

zero:
  %r = call i32 %f(i32 %n) #2
  br label %other

minus:
  call void asm sideeffect "", "~{memory},~{dirflag},~{fpsr},~{flags}"() #3, !srcloc !0
  fence syncscope("singlethread") seq_cst
  fence seq_cst
  br label %other

other:
  %p = phi i32 [ %r, %zero ], [ 1, %minus ], [ %n, %entry ]
  %old = atomicrmw volatile add i32* @weak, i32 %p acq_rel, align 4
  ret i32 %old
}

define dso_local i32 @main() #0 {
  %1 = getelementptr inbounds [4 x %struct.node], [4 x %struct.node]* @pool, i64 0, i64 2
  %2 = load %struct.node* (%struct.node*, i32)*, %struct.node* (%struct.node*, i32)** getelementptr inbounds (%struct.ops, %struct.ops* @ops, i32 0, i32 0), align 8
  %3 = call %struct.node* %2(%struct.node* noundef %1, i32 noundef -5)
  %4 = call i32 (i8*, ...) @printf(i8* noundef getelementptr inbounds ([7 x i8], [7 x i8]* @.str, i64 0, i64 0), i32 zeroext 3)
  ret i32 0
}

declare i32 @printf(i8* nocapture noundef readonly, ...) #1

attributes #0 = { noinline nounwind uwtable "frame-pointer"="all" }
attributes #1 = { "target-cpu"="x86-64" }
attributes #2 = { nounwind }
attributes #3 = { nounwind }

!0 = !{i64 152}
