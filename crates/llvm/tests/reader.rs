//! What the reader makes of IR, in the spellings of LLVM 14 and of LLVM 22.

use fencepost_llvm::constant::ConstantKind;
use fencepost_llvm::instruction::{
    Access, BinaryFlags, BinaryOp, Callee, CastOp, Clause, InstrKind, IntPredicate, Operand,
    Ordering, RmwOp, SyncScope,
};
use fencepost_llvm::module::{Holds, Linkage, Optimised, Step, Symbol};
use fencepost_llvm::{ConstId, Function, Module, Type, parse};

fn typed() -> Module {
    parse("typed_pointers.ll", include_str!("ir/typed_pointers.ll")).expect("readable")
}

fn newest() -> Module {
    parse("newest.ll", include_str!("ir/newest.ll")).expect("readable")
}

fn debug() -> Module {
    parse("debug.ll", include_str!("ir/debug.ll")).expect("readable")
}

fn function<'m>(module: &'m Module, name: &str) -> &'m Function {
    module.function(module.function_named(name).expect("a function"))
}

fn instrs(function: &Function) -> Vec<&InstrKind> {
    function.blocks.iter().flat_map(|block| &block.instrs).map(|instr| &instr.kind).collect()
}

fn init<'m>(module: &'m Module, name: &str) -> &'m ConstantKind {
    let global = module.global(module.global_named(name).expect("a global"));
    &module.constant(global.init.expect("an initial value")).kind
}

fn kind(module: &Module, constant: ConstId) -> &ConstantKind {
    &module.constant(constant).kind
}

#[test]
fn pointers_with_an_element_type_are_pointers() {
    let module = typed();
    let node = module.types.named("struct.node").expect("a type");
    let Type::Struct { packed: false, fields } = module.ty(node) else { panic!("a struct") };
    let shown: Vec<_> = fields.iter().map(|&field| module.types.show(field)).collect();
    assert_eq!(shown, ["i32", "ptr", "%union.tag"]);
    let layout = module.type_layout(node).expect("a size");
    assert_eq!((layout.size, layout.align, &*layout.offsets), (24, 8, &[0, 8, 16][..]));
    let push = function(&module, "push");
    assert_eq!(module.types.show(push.ty), "ptr (ptr, i32)");
    // A cast between pointers is nothing: the operand is the global itself.
    let InstrKind::Load { address: Operand::Const(address), access, .. } = instrs(push)[7] else {
        panic!("a load")
    };
    let head = module.global_named("head").expect("a global");
    assert_eq!(*kind(&module, *address), ConstantKind::Global(head));
    let atomic = Access {
        volatile: false,
        ordering: Some(Ordering::Monotonic),
        scope: SyncScope::System,
        align: Some(8),
    };
    assert_eq!(*access, atomic);
}

#[test]
fn constants_have_their_bits() {
    let module = typed();
    assert_eq!(*init(&module, ".str"), ConstantKind::Bytes((*b"a\"b\\c\n\0").into()));
    assert_eq!(*init(&module, "big"), ConstantKind::Int(1 << 127));
    assert_eq!(*init(&module, "long"), ConstantKind::Float(0x4000_c000_0000_0000_0000));
    let ConstantKind::Array(floats) = init(&module, "half") else { panic!("an array") };
    let bits: Vec<_> = floats.iter().map(|&it| kind(&module, it).clone()).collect();
    let float = |bits: u32| ConstantKind::Float(bits.into());
    assert_eq!(bits, [float(0x3f00_0000), float(0.1f32.to_bits()), float(0x7fc0_0000)]);
    let ConstantKind::GetElementPtr { inbounds: true, indices, .. } = init(&module, "second")
    else {
        panic!("an address")
    };
    assert_eq!(indices.len(), 3);
    let ConstantKind::Binary(BinaryOp::Sub, _, left, _) = init(&module, "distance") else {
        panic!("a difference")
    };
    let field = module.global_named("field").expect("a global");
    let ConstantKind::Cast(CastOp::PtrToInt, of) = kind(&module, *left) else { panic!("a cast") };
    assert_eq!(*kind(&module, *of), ConstantKind::Global(field));
    let ConstantKind::Struct(fields) = init(&module, "ops") else { panic!("a struct") };
    let main = module.function_named("main").expect("a function");
    assert_eq!(*kind(&module, fields[1]), ConstantKind::Function(main));
    assert_eq!(module.function_named("alias"), Some(main));
}

#[test]
fn globals_have_their_properties() {
    let module = typed();
    let of = |name: &str| module.global(module.global_named(name).expect("a global"));
    assert_eq!(of("head").linkage, Linkage::Internal);
    assert_eq!(of("weak").linkage, Linkage::Weak);
    assert_eq!(of("common").linkage, Linkage::Common);
    assert!(of("tls").thread_local && of(".str").constant && !of("weak").constant);
    assert!(of("secret").init.is_none());
    assert_eq!((of("pool").align, of("half").align), (Some(16), None));
    assert_eq!(module.size_of(of("packed").ty), Some(5));
    assert_eq!(module.size_of(of("long").ty), Some(16));
    assert_eq!(module.type_layout(of("long").ty).map(|it| it.store_size), Some(10));
    assert_eq!(module.size_of(of("secret").ty), None);
}

#[test]
fn blocks_and_jumps_are_resolved() {
    let module = typed();
    let pick = function(&module, "pick");
    let names: Vec<_> = pick.blocks.iter().map(|block| &*block.name).collect();
    let at = |name: &str| names.iter().position(|it| *it == name).expect("a block");
    let InstrKind::Switch { default, cases, .. } = &pick.blocks[0].instrs[0].kind else {
        panic!("a switch")
    };
    assert_eq!(default.index(), at("other"));
    let cases: Vec<_> =
        cases.iter().map(|(case, to)| (kind(&module, *case).clone(), to.index())).collect();
    let minus = ConstantKind::Int(0xffff_ffff);
    assert_eq!(cases, [(ConstantKind::Int(0), at("zero")), (minus, at("minus"))]);
    let InstrKind::Phi { incoming, .. } = &pick.blocks[at("other")].instrs[0].kind else {
        panic!("a phi")
    };
    let from: Vec<_> = incoming.iter().map(|it| it.1.index()).collect();
    assert_eq!(from, [at("zero"), at("minus"), 0]);
    let InstrKind::Call(call) = &pick.blocks[at("minus")].instrs[0].kind else { panic!("a call") };
    let Callee::Asm(asm) = &call.callee else { panic!("assembly") };
    assert!(asm.template.is_empty() && asm.side_effects && asm.constraints.contains("memory"));
    let fence = InstrKind::Fence { ordering: Ordering::SeqCst, scope: SyncScope::SingleThread };
    assert_eq!(pick.blocks[at("minus")].instrs[1].kind, fence);
    let numbers = newest();
    let numbers = function(&numbers, "numbers");
    // In the order of their first mention.
    let names: Vec<_> = numbers.locals.iter().map(|local| &*local.name).collect();
    assert_eq!(names, ["0", "named", "2", "8", "4", "9"]);
    let blocks: Vec<_> = numbers.blocks.iter().map(|block| &*block.name).collect();
    assert_eq!(blocks, ["1", "3", "10"]);
}

#[test]
fn flags_of_new_versions_are_kept() {
    let module = newest();
    let f = instrs(function(&module, "_ZN4core3ptr$LT$impl$GT$17h0E"));
    let flags = |it: &InstrKind| match it {
        InstrKind::Cast { flags, .. }
        | InstrKind::Binary { flags, .. }
        | InstrKind::Compare { flags, .. } => *flags,
        _ => panic!("an operation"),
    };
    let none = BinaryFlags::default();
    assert_eq!(flags(f[1]), BinaryFlags { nneg: true, ..none });
    assert_eq!(flags(f[2]), BinaryFlags { nuw: true, nsw: true, ..none });
    assert_eq!(flags(f[3]), BinaryFlags { disjoint: true, ..none });
    assert_eq!(flags(f[4]), BinaryFlags { samesign: true, ..none });
    assert!(matches!(f[4], InstrKind::Compare { predicate: IntPredicate::Ult, .. }));
    assert!(matches!(f[5], InstrKind::GetElementPtr { inbounds: true, .. }));
    assert!(
        matches!(f[6], InstrKind::GetElementPtr { inbounds: false, indices, .. } if indices.len() == 2)
    );
    let is = |wanted: fn(&InstrKind) -> bool| f.iter().any(|it| wanted(it));
    assert!(is(|it| matches!(
        it,
        InstrKind::ReadModifyWrite { op: RmwOp::UIncWrap, scope: SyncScope::Target(name), .. } if &**name == "agent"
    )));
    assert!(is(|it| matches!(
        it,
        InstrKind::CompareExchange {
            weak: false,
            success: Ordering::AcqRel,
            failure: Ordering::Acquire,
            ..
        }
    )));
    assert!(is(|it| matches!(it, InstrKind::Cast { op: CastOp::PtrToAddr, .. })));
    let sel = function(&module, "_ZN4core3ptr$LT$impl$GT$17h0E");
    let sel = sel.locals.iter().find(|local| &*local.name == "sel").expect("a register");
    assert_eq!(module.types.show(sel.ty), "<2 x ptr>");
}

#[test]
fn calls_that_throw_keep_their_edges() {
    let module = newest();
    let f = function(&module, "_ZN4core3ptr$LT$impl$GT$17h0E");
    let invoke = instrs(f).into_iter().find_map(|it| match it {
        InstrKind::Invoke { call, normal, unwind } => Some((call, normal, unwind)),
        _ => None,
    });
    let (call, normal, unwind) = invoke.expect("an invoke");
    assert_eq!(&*f.block(*normal).name, "done");
    assert_eq!(&*f.block(*unwind).name, "cleanup");
    let callee = module.function_named("callee").expect("a function");
    assert_eq!(call.callee, Callee::Function(callee));
    let shown = |ty: Option<_>| ty.map(|ty| module.types.show(ty));
    assert_eq!(shown(call.args[0].byval).as_deref(), Some("%core::fmt::Arguments<'_>"));
    assert_eq!(shown(call.args[1].sret).as_deref(), Some("[24 x i8]"));
    let InstrKind::LandingPad { cleanup: true, clauses, .. } = &f.block(*unwind).instrs[0].kind
    else {
        panic!("a landing pad")
    };
    assert!(matches!(&clauses[..], [Clause::Catch(_), Clause::Filter(_)]));
    assert!(function(&module, "start").noreturn && function(&module, "panic").noreturn);
    assert!(!f.noreturn);
    let start = instrs(function(&module, "start"));
    assert!(start.contains(&&InstrKind::Unsupported { name: "callbr", terminator: true }));
    assert!(matches!(module.symbol("chosen"), Some(Symbol::IFunc(_))));
    assert!(
        matches!(init(&module, "blocks"), ConstantKind::BlockAddress(_, block) if block.index() > 0)
    );
    assert_eq!(module.assembly, [".globl nothing".into()]);
}

#[test]
fn places_lead_out_of_inlined_functions() {
    let module = debug();
    let take = function(&module, "take");
    let load = &take.blocks[0].instrs[3];
    assert!(matches!(load.kind, InstrKind::Load { .. }));
    let at = load.at.expect("a place");
    let chain: Vec<_> = module
        .debug
        .chain(at)
        .map(|place| {
            let file = module.debug.file(place.file.expect("a file"));
            let within = module.debug.subprogram(place.subprogram.expect("a function"));
            (&*file.name, place.line, place.column, &*within.name, &*within.scope)
        })
        .collect();
    assert_eq!(chain, [("atomic.h", 102, 5, "load", "lib"), ("queue.c", 11, 14, "take", "")]);
    let user = module.debug.first_where(at, |file| &*file.directory == "/home/user");
    assert_eq!(user.map(|place| place.line), Some(11));
    assert!(module.debug.first_where(at, |_| false).is_none());
    let take = module.debug.subprogram(take.subprogram.expect("a function"));
    assert_eq!((&*take.name, take.line), ("take", 9));
    assert_eq!(load.line, 16);
}

#[test]
fn paths_are_as_in_the_source() {
    let module = debug();
    let q = module.global(module.global_named("q").expect("a global")).debug.clone();
    let q = q.expect("debug information");
    assert_eq!((&*q.name, q.line), ("q", 7));
    let ty = q.ty.expect("a type");
    let path = |offset| module.debug.describe(ty, offset);
    let paths: Vec<_> = [0, 12, 13, 16, 20, 24, 32].into_iter().map(path).collect();
    let shown: Vec<_> = paths.iter().map(|it| it.as_deref()).collect();
    assert_eq!(
        shown,
        [Some(".buf[0]"), Some(".buf[3]"), None, Some(".tail"), None, Some(".next"), None]
    );
    let take = function(&module, "take");
    let [n, tail] = &take.variables[..] else { panic!("two variables") };
    assert_eq!((&*n.name, n.holds, n.parameter), ("n", Holds::Address, Some(1)));
    assert_eq!((&*tail.name, tail.holds, tail.parameter), ("tail", Holds::Value, None));
    assert!(n.steps.is_empty());
    assert_eq!(*tail.steps, [Step::Plus(4), Step::Other]);
    let pointee = module.debug.pointee(n.ty.expect("a type")).expect("a pointer");
    assert_eq!(module.debug.describe(pointee, 16).as_deref(), Some(".tail"));
    // An enum of Rust: the tag is the object itself, fields are those of a variant.
    let module = newest();
    let f = function(&module, "_ZN4core3ptr$LT$impl$GT$17h0E");
    let opt = f.variables[0].ty.expect("a type");
    assert_eq!(module.debug.describe(opt, 0).as_deref(), Some(""));
    assert_eq!(*f.variables[0].steps, [Step::Deref, Step::Plus(8)]);
    assert_eq!(module.optimised, Some(Optimised::CompileUnit));
    assert_eq!(debug().optimised, None);
}

/// Wrong files and what is said about them.
#[test]
fn wrong_files_are_refused_with_their_place() {
    let body = |text: &str| format!("define i32 @f(i32 %a, ptr %p) {{\n{text}\n}}\n");
    let cases = [
        (body("  %x = frobnicate i32 %a"), "t.ll:2:8: the instruction `frobnicate` is unknown"),
        (
            body("  ret i64 0"),
            "t.ll:2:7: expected the type that the function returns, found the type `i64`",
        ),
        (
            body("  %x = add i32 %p, 1\n  ret i32 %x"),
            "t.ll:2:16: `%p` has the type `ptr`, not `i32`",
        ),
        (body("  ret i32 %nowhere"), "t.ll:2:11: `%nowhere` is used and not defined"),
        (body("  br label %nowhere"), "t.ll:2:12: the block `%nowhere` does not exist"),
        (body("  %a = add i32 1, 2"), "t.ll:2:3: `%a` is defined twice"),
        (body("  %x = add i32 1, 2"), "t.ll:3:1: the last block has no terminator"),
        (
            body("  %x = getelementptr {i32, i8}, ptr %p, i32 0, i32 2\n  ret i32 0"),
            "t.ll:2:33: expected a field of a struct, found the type `{ i32, i8 }`",
        ),
        (
            body("  %x = extractvalue [2 x i8] zeroinitializer, 2\n  ret i32 0"),
            "t.ll:2:47: expected something with a part 2, found the type `[2 x i8]`",
        ),
        (
            body("  store i32 @g, ptr %p\n  ret i32 0"),
            "t.ll:2:13: the address `@g` cannot have the type `i32`",
        ),
        (body("  %x = call i32 @g()\n  ret i32 %x"), "t.ll:2:17: `@g` is used and not declared"),
        (
            body("  %x = trunc i8 1 to i16\n  ret i32 0"),
            "t.ll:2:14: there is no such conversion from `i8` to `i16`",
        ),
        (body("x:\n  ret i32 0\nx:\n  ret i32 0"), "t.ll:4:1: the block `x` exists twice"),
        (body("x:\n  br label %x"), "t.ll:3:12: a jump to the first block"),
        (
            body("  br label %x\nx:\n  %q = phi i32 [ 1, %x ]\n  br label %x"),
            "t.ll:2:12: a phi of this block has no value for the block `%0`",
        ),
        (body("x:\n  %q = phi i32 [ 1, %x ]\n  ret i32 0"), "t.ll:2:1: a phi in the first block"),
        ("@x = global i8 256".into(), "t.ll:1:16: 256 does not fit in `i8`"),
        (
            "@x = global [2 x i8] c\"abc\"".into(),
            "t.ll:1:22: a string of 3 bytes cannot have the type `[2 x i8]`",
        ),
        ("@x = global %t zeroinitializer".into(), "t.ll:1:13: the type `%t` is not defined"),
        ("%t = type { i32, %t }".into(), "t.ll:1:18: the type `%t` contains itself"),
        ("@x = global i32 0\n@x = global i32 1".into(), "t.ll:2:1: `@x` is defined twice"),
        (
            "@x = alias i32, ptr @y\n@y = alias i32, ptr @x".into(),
            "t.ll:1:1: the alias `@x` is defined by itself",
        ),
        (
            "@x = alias i32, getelementptr (i8, ptr @x, i64 1)".into(),
            "t.ll:1:1: the alias `@x` is defined by itself",
        ),
        (
            "target datalayout = \"e-i64:63\"".into(),
            "t.ll:1:21: cannot read `i64:63` in the data layout",
        ),
        (
            "define void @f() {\n  ret void\n".into(),
            "t.ll:3:1: expected `}`, found the end of the file",
        ),
        ("hello".into(), "t.ll:1:1: expected a definition, found `hello`"),
        ("@x = global i8 c\"".into(), "t.ll:1:17: a string without its closing quote"),
        (
            "@x = global [9223372036854775807 x i64] zeroinitializer".into(),
            "t.ll:1:1: the type `[9223372036854775807 x i64]` is too large for any memory",
        ),
    ];
    for (text, message) in cases {
        let said = parse("t.ll", &text).expect_err(message).to_string();
        assert_eq!(said, message, "{text}");
    }
}

#[test]
fn depth_has_a_limit_and_length_has_none() {
    let deep = |open: &str, middle: &str, close: &str, n: usize| {
        format!("@x = global {}{middle}{} undef", open.repeat(n), close.repeat(n))
    };
    assert!(parse("t.ll", &deep("{ ", "i32", " }", 150)).is_ok());
    let error = parse("t.ll", &deep("{ ", "i32", " }", 100_000)).expect_err("too deep");
    assert!(error.to_string().contains("nested more than"), "{error}");
    let stars = format!("@x = global i32{} null", "*".repeat(100_000));
    assert!(parse("t.ll", &stars).is_ok());
    let mut chain = String::from("%t0 = type { i32 }\n");
    for n in 1..50_000 {
        chain.push_str(&format!("%t{n} = type {{ %t{} }}\n", n - 1));
    }
    let module = parse("t.ll", &chain).expect("a long chain of types");
    let last = module.types.named("t49999").expect("the last one");
    assert_eq!(module.size_of(last), Some(4));
    let metadata = format!("!0 = {}{}", "!{".repeat(100_000), "}".repeat(100_000));
    assert!(parse("t.ll", &metadata).is_err());
}

/// Spellings that compilers hardly print, and people write.
#[test]
fn spellings_of_people_are_read() {
    let module = parse(
        "t.ll",
        "@a = global [2x i8] zeroinitializer
         @b = global i8addrspace(1)* null
         define i32 @f(i32 %n) {
         \"2\":
           %0 = add i32 %n, 1
           %1 = call i32 @llvm.ctpop.i32(i32 %0)
           call void @note(metadata i32 %0, metadata !{})
           br label %\"3x\"
         \"3x\":
           call void @note(metadata !0, metadata !\"text\") nounwind readnone
           ret i32 %1
         }
         declare void @note(metadata, metadata)
         !0 = !{!\"x\", null, i32 1, !0}
        ",
    );
    let module = module.unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(module.types.show(module.globals[0].ty), "[2 x i8]");
    assert_eq!(module.types.show(module.globals[1].ty), "ptr addrspace(1)");
    let f = function(&module, "f");
    assert_eq!(f.blocks.iter().map(|it| &*it.name).collect::<Vec<_>>(), ["2", "3x"]);
    // Intrinsics need no declaration: the call says what they are.
    let ctpop = function(&module, "llvm.ctpop.i32");
    assert!(ctpop.is_declaration());
    assert_eq!(module.types.show(ctpop.ty), "i32 (i32)");
}
