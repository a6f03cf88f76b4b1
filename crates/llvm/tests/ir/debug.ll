; Debug intrinsics, inlined places, and types of the source.
source_filename = "queue.c"
target datalayout = "e-m:e-i64:64-f80:128-n8:16:32:64-S128"
target triple = "x86_64-pc-linux-gnu"

%struct.queue = type { [4 x i32], i32, ptr }

@q = dso_local global %struct.queue zeroinitializer, align 8, !dbg !0

define dso_local i32 @take(ptr noundef %n) #0 !dbg !20 {
entry:
  %n.addr = alloca ptr, align 8
  store ptr %n, ptr %n.addr, align 8
  call void @llvm.dbg.declare(metadata ptr %n.addr, metadata !23, metadata !DIExpression()), !dbg !24
  %0 = load i32, ptr getelementptr inbounds (%struct.queue, ptr @q, i32 0, i32 1), align 8, !dbg !25
  %1 = load atomic i32, ptr %n acquire, align 4, !dbg !27
  call void @llvm.dbg.value(metadata i32 %0, metadata !28, metadata !DIExpression(DW_OP_plus_uconst, 4, DW_OP_stack_value)), !dbg !24
  %2 = add nsw i32 %0, %1, !dbg !29
  ret i32 %2, !dbg !29
}

declare void @llvm.dbg.declare(metadata, metadata, metadata)
declare void @llvm.dbg.value(metadata, metadata, metadata)

attributes #0 = { noinline nounwind }

!llvm.dbg.cu = !{!2}
!llvm.module.flags = !{!30}

!0 = !DIGlobalVariableExpression(var: !1, expr: !DIExpression())
!1 = distinct !DIGlobalVariable(name: "q", scope: !2, file: !3, line: 7, type: !4, isLocal: false, isDefinition: true)
!2 = distinct !DICompileUnit(language: DW_LANG_C11, file: !3, producer: "none", isOptimized: false, runtimeVersion: 0, emissionKind: FullDebug, globals: !31)
!3 = !DIFile(filename: "queue.c", directory: "/home/user", checksumkind: CSK_MD5, checksum: "0123456789abcdef0123456789abcdef")
!4 = !DIDerivedType(tag: DW_TAG_typedef, name: "queue_t", file: !3, line: 6, baseType: !5)
!5 = distinct !DICompositeType(tag: DW_TAG_structure_type, name: "queue", file: !3, line: 2, size: 256, elements: !6)
!6 = !{!7, !12, !13}
!7 = !DIDerivedType(tag: DW_TAG_member, name: "buf", scope: !5, file: !3, line: 3, baseType: !8, size: 128)
!8 = !DICompositeType(tag: DW_TAG_array_type, baseType: !9, size: 128, elements: !10)
!9 = !DIBasicType(name: "int", size: 32, encoding: DW_ATE_signed)
!10 = !{!11}
!11 = !DISubrange(count: 4)
!12 = !DIDerivedType(tag: DW_TAG_member, name: "tail", scope: !5, file: !3, line: 4, baseType: !14, size: 32, offset: 128)
!13 = !DIDerivedType(tag: DW_TAG_member, name: "next", scope: !5, file: !3, line: 5, baseType: !15, size: 64, offset: 192)
!14 = !DIDerivedType(tag: DW_TAG_atomic_type, baseType: !9)
!15 = !DIDerivedType(tag: DW_TAG_pointer_type, baseType: !5, size: 64)
!16 = distinct !DISubprogram(name: "load", linkageName: "_ZN3lib4loadEv", scope: !18, file: !17, line: 100, type: !21, unit: !2, spFlags: DISPFlagDefinition)
!17 = !DIFile(filename: "atomic.h", directory: "/usr/include")
!18 = !DINamespace(name: "lib", scope: null)
!19 = distinct !DILexicalBlock(scope: !16, file: !17, line: 101, column: 3)
!20 = distinct !DISubprogram(name: "take", scope: !3, file: !3, line: 9, type: !21, scopeLine: 9, flags: DIFlagPrototyped | DIFlagAllCallsDescribed, spFlags: DISPFlagDefinition, unit: !2, retainedNodes: !32)
!21 = !DISubroutineType(types: !22)
!22 = !{!9, !15}
!23 = !DILocalVariable(name: "n", arg: 1, scope: !20, file: !3, line: 9, type: !15)
!24 = !DILocation(line: 9, column: 18, scope: !20)
!25 = !DILocation(line: 10, column: 12, scope: !20)
!26 = distinct !DILocation(line: 11, column: 14, scope: !20)
!27 = !DILocation(line: 102, column: 5, scope: !19, inlinedAt: !26)
!28 = !DILocalVariable(name: "tail", scope: !20, file: !3, line: 10, type: !9)
!29 = !DILocation(line: 11, column: 3, scope: !20)
!30 = !{i32 2, !"Debug Info Version", i32 3}
!31 = !{!0}
!32 = !{!23, !28}
