; Spellings of LLVM 17 to 22: records, flags on casts and comparisons, attributes with arguments.
source_filename = "new \22name\22.rs"
target datalayout = "e-m:e-p270:32:32-p271:32:32-p272:64:64-i64:64-i128:128-f80:128-n8:16:32:64-S128"
target triple = "x86_64-unknown-linux-gnu"

%"core::fmt::Arguments<'_>" = type { { ptr, i64 }, ptr }

module asm ".globl nothing"

@0 = private unnamed_addr constant <{ [3 x i8] }> <{ [3 x i8] c"x\00\FF" }>, align 1
@alloc_1 = private unnamed_addr constant <{ ptr, [16 x i8] }> <{ ptr @0, [16 x i8] c"\03\00\00\00\00\00\00\00\01\00\00\00\02\00\00\00" }>, align 8
@vtable.0 = private unnamed_addr constant <{ ptr, i64 }> <{ ptr @"_ZN4core3ptr$LT$impl$GT$17h0E", i64 ptrtoint (ptr @alloc_1 to i64) }>, align 8
@llvm.global_ctors = appending global [1 x { i32, ptr, ptr }] [{ i32, ptr, ptr } { i32 65535, ptr @start, ptr null }]
@sum = global <4 x i32> splat (i32 7), align 16
@rel = internal constant i32 trunc (i64 sub (i64 ptrtoint (ptr dso_local_equivalent @start to i64), i64 ptrtoint (ptr @rel to i64)) to i32)
@in = constant ptr getelementptr inbounds nuw (i8, ptr @alloc_1, i64 8)
@inr = constant ptr getelementptr inbounds inrange(-8, 8) (i8, ptr @alloc_1, i64 8)
@chosen = ifunc i32 (i32), ptr @resolve
@cfi = global ptr no_cfi @start
@blocks = global ptr blockaddress(@start, %done)

define internal void @"_ZN4core3ptr$LT$impl$GT$17h0E"(ptr noundef nonnull align 8 captures(none) dereferenceable(24) initializes((0, 8), (16, 24)) %self, i32 noundef range(i32 0, 3) %n) unnamed_addr #0 personality ptr @rust_eh_personality {
start:
  %x = alloca [8 x i8], align 8
    #dbg_declare(ptr %x, !10, !DIExpression(DW_OP_deref, DW_OP_plus_uconst, 8), !11)
    #dbg_value(i32 %n, !12, !DIExpression(), !11)
    #dbg_label(!13, !11)
  %0 = zext nneg i32 %n to i64, !dbg !11
  %1 = trunc nuw nsw i64 %0 to i32
  %2 = or disjoint i32 %1, 8
  %3 = icmp samesign ult i32 %2, 100
  %4 = getelementptr inbounds nuw i8, ptr %self, i64 8
  %5 = getelementptr nusw nuw [2 x i16], ptr %4, i64 %0, i64 1
  %6 = uitofp nneg i32 %n to double
  %7 = fadd reassoc nnan double %6, 1.000000e+00
  %8 = fcmp fast olt double %7, 0x7FF0000000000000
  %9 = select i1 %3, i1 %8, i1 false
  br i1 %9, label %good, label %bad, !prof !20

good:                                             ; preds = %start
  %v = invoke noundef range(i64 1, 0) i64 @callee(ptr noundef byval(%"core::fmt::Arguments<'_>") align 8 %x, ptr sret([24 x i8]) align 8 captures(address, read_provenance) %self, i1 true) [ "deopt"(i32 0) ]
          to label %done unwind label %cleanup

bad:                                              ; preds = %start
  call void @llvm.assume(i1 true) [ "align"(ptr %self, i64 8) ]
  call void @panic() #1
  unreachable

cleanup:                                          ; preds = %good
  %pad = landingpad { ptr, i32 }
          cleanup
          catch ptr null
          filter [0 x ptr] zeroinitializer
  %p0 = extractvalue { ptr, i32 } %pad, 0
  %p1 = insertvalue { ptr, i32 } poison, ptr %p0, 0
  %p2 = insertvalue { ptr, i32 } %p1, i32 1, 1
  resume { ptr, i32 } %p2

done:                                             ; preds = %good
  %u = atomicrmw uinc_wrap ptr %self, i64 %v syncscope("agent") seq_cst, align 8
  %f = atomicrmw fmaximum ptr %self, double %6 monotonic, align 8
  %c = cmpxchg ptr %self, ptr null, ptr %x acq_rel acquire, align 8
  %s = load atomic volatile i8, ptr %4 syncscope("singlethread") unordered, align 1
  store atomic i8 %s, ptr %4 release, align 1, !noundef !{}
  %w = freeze <4 x i32> splat (i32 1)
  %e = extractelement <4 x i32> %w, i64 2
  %i = insertelement <4 x i32> %w, i32 %e, i32 0
  %sh = shufflevector <4 x i32> %i, <4 x i32> poison, <2 x i32> <i32 0, i32 2>
  %g = getelementptr i32, ptr %self, <2 x i64> zeroinitializer
  %cmp = icmp eq <2 x i32> %sh, zeroinitializer
  %sel = select <2 x i1> %cmp, <2 x ptr> %g, <2 x ptr> zeroinitializer
  %addr = ptrtoaddr ptr %self to i64
  tail call fastcc void @start() #2
  ret void

  uselistorder i32 %n, { 1, 0 }
}

; Blocks and values without names are numbered together.
define i32 @numbers(i32, i32 %named) {
  %2 = add i32 %0, %named
  br label %3

3:
  %4 = phi i32 [ %2, %1 ], [ %8, %3 ]
  %8 = sub nuw nsw i32 %4, 1
  %9 = icmp sgt i32 %8, 0
  br i1 %9, label %3, label %10

10:
  ret i32 %8
}

define void @start() #1 {
  %1 = call ptr @llvm.stacksave.p0()
  indirectbr ptr blockaddress(@start, %done), [label %done, label %2]

done:
  br label %2

2:
  callbr void asm "", "r,!i"(i32 0)
          to label %3 [label %4]

3:
  ret void

4:
  unreachable
}

define ptr @resolve() memory(argmem: readwrite, inaccessiblemem: write) {
  ret ptr @numbers
}

declare !dbg !14 i64 @callee(ptr, ptr, i1 zeroext) local_unnamed_addr #0
declare void @llvm.assume(i1 noundef) nocallback nofree nosync nounwind willreturn memory(inaccessiblemem: write)
declare void @panic() noreturn cold
declare ptr @llvm.stacksave.p0()
declare i32 @rust_eh_personality(...) addrspace(0)
declare double @no_nan(double nofpclass(nan inf))
declare target("spirv.Image", void, 1) @image(ptr addrspace(3), <vscale x 4 x i32>, half, bfloat)

attributes #0 = { nonlazybind uwtable allockind("alloc,zeroed") alignstack=16 vscale_range(1,16) "probe-stack"="inline-asm" }
attributes #1 = { cold noreturn }
attributes #2 = { memory(none) }

!llvm.module.flags = !{!0, !3}
!llvm.dbg.cu = !{!1}

!0 = !{i32 8, !"PIC Level", i32 2}
!1 = distinct !DICompileUnit(language: DW_LANG_Rust, file: !2, producer: "none", isOptimized: true, runtimeVersion: 0, emissionKind: FullDebug, splitDebugInlining: false, nameTableKind: None)
!2 = !DIFile(filename: "new.rs/@/new.0", directory: "/home/user")
!3 = !{i32 2, !"Debug Info Version", i32 3}
!10 = !DILocalVariable(name: "opt", scope: !14, file: !2, line: 3, type: !15, align: 64)
!11 = !DILocation(line: 4, column: 5, scope: !14)
!12 = !DILocalVariable(name: "n", arg: 2, scope: !14, file: !2, line: 2, type: !19)
!13 = !DILabel(scope: !14, name: "again", file: !2, line: 5)
!14 = distinct !DISubprogram(name: "f<u8>", scope: !16, file: !2, line: 2, type: !18, spFlags: DISPFlagLocalToUnit | DISPFlagDefinition, unit: !1, templateParams: !{})
!15 = !DICompositeType(tag: DW_TAG_structure_type, name: "Option<u32>", scope: !16, file: !2, size: 64, align: 32, elements: !21, templateParams: !{}, identifier: "ab")
!16 = !DINamespace(name: "option", scope: !17)
!17 = !DINamespace(name: "core", scope: null)
!18 = !DISubroutineType(types: !{})
!19 = !DIBasicType(name: "u32", size: 32, encoding: DW_ATE_unsigned)
!20 = !{!"branch_weights", !"expected", i32 2000, i32 1}
!21 = !{!22}
!22 = !DICompositeType(tag: DW_TAG_variant_part, scope: !15, file: !2, size: 64, align: 32, elements: !23, templateParams: !{}, identifier: "cd", discriminator: !26)
!23 = !{!24, !25}
!24 = !DIDerivedType(tag: DW_TAG_member, name: "None", scope: !22, file: !2, baseType: !27, size: 64, align: 32, extraData: i32 0)
!25 = !DIDerivedType(tag: DW_TAG_member, name: "Some", scope: !22, file: !2, baseType: !28, size: 64, align: 32, extraData: i32 1)
!26 = !DIDerivedType(tag: DW_TAG_member, scope: !15, file: !2, baseType: !19, size: 32, align: 32, flags: DIFlagArtificial)
!27 = !DICompositeType(tag: DW_TAG_structure_type, name: "None", scope: !15, file: !2, size: 64, elements: !{})
!28 = !DICompositeType(tag: DW_TAG_structure_type, name: "Some", scope: !15, file: !2, size: 64, elements: !29)
!29 = !{!30}
!30 = !DIDerivedType(tag: DW_TAG_member, name: "__0", scope: !28, file: !2, baseType: !19, size: 32, align: 32, offset: 32, flags: DIFlagPublic)

^0 = module: (path: "a", hash: (0, 0, 0, 0, 0))
