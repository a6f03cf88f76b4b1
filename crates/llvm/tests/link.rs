//! Linking: one definition for each name, whatever the order of the files.

use fencepost_llvm::constant::ConstantKind;
use fencepost_llvm::instruction::{Callee, InstrKind};
use fencepost_llvm::module::{Linkage, Symbol};
use fencepost_llvm::{Function, Module, parse};

fn module(name: &str, text: &str) -> Module {
    parse(name, &format!("source_filename = \"{name}\"\n{text}")).expect("readable")
}

/// Links files that are called a, b and so on.
fn link(texts: &[&str]) -> Result<Module, String> {
    let names = ["a", "b", "c"];
    let modules = texts.iter().zip(names).map(|(text, name)| module(name, text)).collect();
    Module::link(modules).map_err(|error| error.to_string())
}

fn function<'m>(module: &'m Module, name: &str) -> &'m Function {
    module.function(module.function_named(name).expect("a function"))
}

/// The functions that a function calls.
fn calls(module: &Module, name: &str) -> Vec<String> {
    let instrs = function(module, name).blocks.iter().flat_map(|block| &block.instrs);
    let callees = instrs.filter_map(|instr| match &instr.kind {
        InstrKind::Call(call) => Some(&call.callee),
        _ => None,
    });
    callees
        .map(|callee| match callee {
            Callee::Function(id) => {
                let callee = module.function(*id);
                let what = if callee.is_declaration() { "declared" } else { "defined" };
                format!("{what} {}", callee.name)
            }
            other => format!("{other:?}"),
        })
        .collect()
}

/// The number that a global starts with.
fn starts_with(module: &Module, name: &str) -> Option<u128> {
    let init = module.global(module.global_named(name)?).init?;
    match module.constant(init).kind {
        ConstantKind::Int(value) => Some(value),
        _ => None,
    }
}

#[test]
fn declarations_become_definitions_in_either_order() {
    let user = "declare i32 @f(i32)\n@x = external global i32\n
        define i32 @main() {\n %r = call i32 @f(i32 1)\n %v = load i32, ptr @x\n ret i32 %v\n}";
    let library = "@x = global i32 7\ndefine i32 @f(i32 %a) {\n ret i32 %a\n}";
    for texts in [[user, library], [library, user]] {
        let linked = link(&texts).expect("linkable");
        assert_eq!(calls(&linked, "main"), ["defined f"]);
        assert_eq!(starts_with(&linked, "x"), Some(7));
        assert_eq!((linked.functions.len(), linked.globals.len()), (2, 1));
        let loads =
            function(&linked, "main").blocks[0].instrs.iter().find_map(|it| match it.kind {
                InstrKind::Load { address: fencepost_llvm::Operand::Const(address), .. } => {
                    Some(linked.constant(address).kind.clone())
                }
                _ => None,
            });
        assert_eq!(loads, linked.global_named("x").map(ConstantKind::Global));
    }
}

#[test]
fn local_names_stay_apart() {
    let text = |n: u32| {
        format!(
            "@n = internal global i32 {n}\ndefine internal i32 @get() {{\n %v = load i32, ptr @n\n ret i32 %v\n}}
             define i32 @get{n}() {{\n %v = call i32 @get()\n ret i32 %v\n}}"
        )
    };
    let linked = link(&[&text(1), &text(2)]).expect("linkable");
    assert_eq!((linked.functions.len(), linked.globals.len()), (4, 2));
    let callee = |name: &str| match &function(&linked, name).blocks[0].instrs[0].kind {
        InstrKind::Call(call) => call.callee.clone(),
        _ => panic!("a call"),
    };
    assert_ne!(callee("get1"), callee("get2"));
}

#[test]
fn the_stronger_definition_wins() {
    let of = |linkage: &str, value: u32| format!("@x = {linkage} global i32 {value}");
    let cases = [
        (of("weak", 1), of("", 2), 2),
        (of("", 1), of("weak", 2), 1),
        (of("linkonce_odr", 1), of("weak", 2), 1),
        (of("common", 0), of("", 5), 5),
        (of("weak", 3), of("common", 0), 0),
        (of("available_externally", 3), of("weak", 4), 4),
    ];
    for (a, b, wanted) in cases {
        let linked = link(&[&a, &b]).expect("linkable");
        assert_eq!(starts_with(&linked, "x"), Some(wanted), "{a} and {b}");
        assert_eq!(linked.globals.len(), 1);
    }
    let small = "@x = common global i32 0";
    let large = "@x = common global [4 x i32] zeroinitializer";
    for texts in [[small, large], [large, small]] {
        let linked = link(&texts).expect("linkable");
        assert_eq!(linked.size_of(linked.globals[0].ty), Some(16));
    }
    let undefined = link(&["@x = extern_weak global i32", "@x = extern_weak global i32"]);
    assert_eq!(undefined.expect("linkable").globals[0].linkage, Linkage::ExternWeak);
}

#[test]
fn conflicts_are_named() {
    let twice = ["define void @f() {\n ret void\n}", "define void @f() {\n ret void\n}"];
    assert_eq!(link(&twice).err().as_deref(), Some("b: `f` is defined here and in a"));
    let differ = ["declare void @f()", "@f = global i32 0"];
    let message = "b: `f` is a function in one file and a variable in a";
    assert_eq!(link(&differ).err().as_deref(), Some(message));
    let machines = [
        "target datalayout = \"e-i64:64\"\n@x = global { i32, i64 } zeroinitializer",
        "target datalayout = \"e-i64:32\"\n@y = global { i32, i64 } zeroinitializer",
    ];
    let message = "b: compiled for another machine than a: `i64` has another size or alignment";
    assert_eq!(link(&machines).err().as_deref(), Some(message));
}

#[test]
fn named_types_are_merged_or_renamed() {
    let of =
        |body: &str, name: &str| format!("%t = type {body}\n@{name} = global %t zeroinitializer");
    let same = link(&[&of("{ i32 }", "x"), &of("{ i32 }", "y")]).expect("linkable");
    assert_eq!(same.globals[0].ty, same.globals[1].ty);
    let other = link(&[&of("{ i32 }", "x"), &of("{ i8, i64 }", "y")]).expect("linkable");
    assert_eq!(other.size_of(other.globals[0].ty), Some(4));
    assert_eq!(other.types.name(other.globals[1].ty), Some("t.1"));
    let opaque = "%t = type opaque\n@z = external global %t";
    let opaque = link(&[opaque, &of("{ i32 }", "x")]).expect("linkable");
    let size = opaque.global_named("z").and_then(|it| opaque.size_of(opaque.global(it).ty));
    assert_eq!(size, Some(4));
}

#[test]
fn aliases_are_definitions() {
    let user = "declare i32 @f()\ndefine i32 @main() {\n %r = call i32 @f()\n ret i32 %r\n}\n@p = global ptr @f";
    let library = "@f = alias i32 (), ptr @g\ndefine i32 @g() {\n ret i32 4\n}";
    for texts in [[user, library], [library, user]] {
        let linked = link(&texts).expect("linkable");
        assert_eq!(calls(&linked, "main"), ["defined g"]);
        assert!(matches!(linked.symbol("f"), Some(Symbol::Alias(_))));
        let p = linked.global(linked.global_named("p").expect("a global")).init.expect("a value");
        let g = linked.function_named("g").expect("a function");
        assert_eq!(linked.constant(p).kind, ConstantKind::Function(g));
    }
}

#[test]
fn constructors_are_joined_in_order() {
    let of = |name: &str| {
        format!(
            "@llvm.global_ctors = appending global [1 x {{ i32, ptr, ptr }}] [{{ i32, ptr, ptr }} {{ i32 1, ptr @{name}, ptr null }}]
             define internal void @{name}() {{\n ret void\n}}"
        )
    };
    let linked = link(&[&of("first"), &of("second")]).expect("linkable");
    let ctors = linked.global(linked.global_named("llvm.global_ctors").expect("constructors"));
    assert_eq!(linked.types.show(ctors.ty), "[2 x { i32, ptr, ptr }]");
    let ConstantKind::Array(entries) = &linked.constant(ctors.init.expect("a value")).kind else {
        panic!("an array")
    };
    let names: Vec<_> = entries
        .iter()
        .map(|&entry| {
            let ConstantKind::Struct(fields) = &linked.constant(entry).kind else {
                panic!("a struct")
            };
            match linked.constant(fields[1]).kind {
                ConstantKind::Function(function) => &*linked.function(function).name,
                _ => panic!("a function"),
            }
        })
        .collect();
    assert_eq!(names, ["first", "second"]);
}

/// Catches indices of debug information that still belong to one of the files.
#[test]
fn places_stay_with_their_files() {
    let text = include_str!("ir/debug.ll");
    let other = text.replace("queue.c", "other.c").replace("@take", "@take2").replace("@q", "@q2");
    let linked = link(&[text, &other]).expect("linkable");
    for (name, file) in [("take", "queue.c"), ("take2", "other.c")] {
        let function = function(&linked, name);
        let places = function.blocks[0].instrs.iter().filter_map(|instr| instr.at);
        for place in places {
            let last = linked.debug.chain(place).last().and_then(|place| place.file);
            assert_eq!(&*linked.debug.file(last.expect("a file")).name, file);
        }
        let n = function.variables[0].ty.and_then(|ty| linked.debug.pointee(ty));
        assert_eq!(linked.debug.describe(n.expect("a type"), 16).as_deref(), Some(".tail"));
    }
}
