//! What real compilers print is read, and says what the compilers say.
//!
//! Every clang that is installed (`clang`, `clang-14` to `clang-30`) and rustc take part. Without any, the tests say so
//! and pass.

use fencepost_llvm::compile::{self, Failure, Options};
use fencepost_llvm::constant::ConstantKind;
use fencepost_llvm::instruction::{Callee, InstrKind, RmwOp};
use fencepost_llvm::module::Optimised;
use fencepost_llvm::{Function, Instr, Module, Ordering, parse};
use std::path::{Path, PathBuf};
use std::process::Command;

fn program(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/programs").join(name)
}

/// The installed clangs that are new enough.
fn clangs() -> Vec<String> {
    let names =
        std::iter::once("clang".to_string()).chain((14..=30).map(|it| format!("clang-{it}")));
    let works = |name: &String| {
        let said = Command::new(name).arg("--version").output();
        let said = said.map(|it| String::from_utf8_lossy(&it.stdout).into_owned());
        let version = said.unwrap_or_default();
        let version = version.split("version ").nth(1).and_then(|it| it.split('.').next());
        version.and_then(|it| it.parse::<u32>().ok()).is_some_and(|it| it >= 14)
    };
    let found: Vec<_> = names.filter(works).collect();
    if found.is_empty() {
        eprintln!("no clang: skipped");
    }
    found
}

fn compile_with(clang: &str, file: &Path, flag: &str) -> Module {
    compile_flags(clang, file, &[flag])
}

fn compile_flags(clang: &str, file: &Path, more: &[&str]) -> Module {
    let flags = ["-Xclang", "-disable-O0-optnone", "-g", "-S", "-emit-llvm", "-w", "-o", "-"];
    let output = Command::new(clang).args(more).args(flags).arg(file).output().expect("clang");
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{clang} {}: {said}", file.display());
    let text = String::from_utf8(output.stdout).expect("text");
    parse(clang, &text).unwrap_or_else(|error| panic!("{}: {error}", file.display()))
}

fn instrs(function: &Function) -> impl Iterator<Item = &Instr> {
    function.blocks.iter().flat_map(|block| &block.instrs)
}

fn function<'m>(module: &'m Module, name: &str) -> &'m Function {
    module.function(module.function_named(name).unwrap_or_else(|| panic!("no {name}")))
}

/// The numbers in a global array.
fn numbers(module: &Module, name: &str) -> Vec<u64> {
    let global = module.global(module.global_named(name).expect("a global"));
    let ConstantKind::Array(elements) = &module.constant(global.init.expect("a value")).kind else {
        panic!("an array")
    };
    let value = |constant| match module.constant(constant).kind {
        ConstantKind::Int(value) => value as u64,
        _ => panic!("a number"),
    };
    elements.iter().map(|&element| value(element)).collect()
}

/// Fields and elements, as `layout.c` lists their offsets.
const C_PATHS: &[(&str, &[&str])] = &[
    ("plain", &[".a", ".b", ".c", ".d", ".e"]),
    ("nested", &[".p.d", ".x", ".in.v", ".next"]),
    ("packed", &[".a", ".b", ".c"]),
    ("aligned", &[".a", ".b", ".c"]),
    ("arrays", &[".s[2]", ".m[1][2]", ".q[1].d"]),
    ("atomics", &[".c", ".l", ".p"]),
    ("wide", &[".a", ".b", ".c", ".d"]),
    ("flexible", &[".n", ".half", ".items[2].d"]),
];

/// Catches a layout that differs from the compiler's `sizeof` and `offsetof`, in types and in debug information.
#[test]
fn sizes_and_offsets_are_the_compilers() {
    let cxx: &[(&str, &[&str])] = &[
        ("Derived", &[".x", ".y", ".z"]),
        ("Table", &[".after"]),
        ("Ring", &[".slots[1].state", ".slots[3].value", ".next"]),
    ];
    for clang in clangs() {
        for (file, types) in [("layout.c", C_PATHS), ("layout.cpp", cxx)] {
            let module = compile_with(&clang, &program(file), "-O0");
            for (name, paths) in types {
                check_layout(&module, name, paths, &format!("{clang}: {name}"));
            }
        }
    }
}

/// Machines with other sizes, alignments and orders of bytes.
#[test]
fn sizes_and_offsets_are_those_of_the_machine() {
    let Some(clang) = clangs().pop() else { return };
    let machines = [
        "i386-linux-gnu",
        "aarch64-linux-gnu",
        "arm-linux-gnueabihf",
        "riscv32-unknown-elf",
        "mips-linux-gnu",
        "powerpc64-linux-gnu",
        "s390x-linux-gnu",
        "wasm32-unknown-unknown",
        "x86_64-pc-windows-msvc",
    ];
    for machine in machines {
        let target = format!("--target={machine}");
        let known = Command::new(&clang).args([&target, "--print-supported-cpus"]).output();
        if !known.is_ok_and(|it| it.status.success()) {
            eprintln!("{clang} has no {machine}: skipped");
            continue;
        }
        let flags = ["-O0", "-ffreestanding", "-gdwarf", &target];
        let module = compile_flags(&clang, &program("layout.c"), &flags);
        for (name, paths) in C_PATHS {
            check_layout(&module, name, paths, &format!("{machine}: {name}"));
        }
    }
}

fn check_layout(module: &Module, name: &str, paths: &[&str], what: &str) {
    let facts = numbers(module, &format!("{name}_facts"));
    let object = module.global_named(&format!("{name}_object")).expect("a global");
    let object = module.global(object);
    assert_eq!(module.size_of(object.ty), Some(facts[0]), "{what}");
    let ty = object.debug.as_ref().and_then(|debug| debug.ty).expect("a type");
    assert_eq!(module.debug.size(ty), facts[0], "{what}");
    let shown: Vec<_> = facts[1..].iter().map(|&it| module.debug.describe(ty, it)).collect();
    let shown: Vec<_> = shown.iter().map(|it| it.as_deref().unwrap_or("?")).collect();
    assert_eq!(shown, paths, "{what}");
    // Clang adds fields for padding and for base classes, so not all offsets are those of fields.
    let layout = module.type_layout(object.ty).expect("a size");
    if name.chars().all(char::is_lowercase) {
        let fields = paths.iter().zip(&facts[1..]);
        for (path, offset) in fields.filter(|it| it.0.matches(['.', '[']).count() == 1) {
            assert!(layout.offsets.contains(offset), "{what}{path} at {offset}");
        }
    }
}

#[test]
fn c_is_read_with_its_places_and_names() {
    for clang in clangs() {
        let module = compile_with(&clang, &program("stack.c"), "-O0");
        assert_eq!(module.optimised, None, "{clang}");
        let push = function(&module, "push");
        let exchange = instrs(push).find_map(|instr| match instr.kind {
            InstrKind::CompareExchange { weak, success, failure, .. } => {
                Some((weak, success, failure, instr.at))
            }
            _ => None,
        });
        let (weak, success, failure, at) = exchange.expect("a cmpxchg");
        assert_eq!((weak, success, failure), (true, Ordering::Release, Ordering::Monotonic));
        let place = module.debug.place(at.expect("a place"));
        assert_eq!(place.line, 17, "{clang}");
        let orders: Vec<_> = instrs(push)
            .filter_map(|instr| match instr.kind {
                InstrKind::ReadModifyWrite { op: RmwOp::Add, ordering, .. } => Some(ordering),
                _ => None,
            })
            .collect();
        assert_eq!(orders, [Ordering::SeqCst, Ordering::AcqRel]);
        let names: Vec<_> = push.variables.iter().map(|it| (&*it.name, it.parameter)).collect();
        assert!(names.starts_with(&[("key", Some(1)), ("n", None)]), "{clang}: {names:?}");
        let node = push.variables[1].ty.and_then(|ty| module.debug.pointee(ty)).expect("a pointer");
        assert_eq!(module.debug.describe(node, 8).as_deref(), Some(".next"));
        let counts = module.global_named("counts").expect("a global");
        let counts = module.global(counts).debug.as_ref().and_then(|it| it.ty).expect("a type");
        assert_eq!(module.debug.describe(counts, 4).as_deref(), Some(".failed"));
        let placed = instrs(push).filter(|instr| instr.at.is_some()).count();
        assert!(placed * 10 >= instrs(push).count() * 7, "{clang}: {placed} places");
        let created = instrs(function(&module, "main")).any(|instr| match &instr.kind {
            InstrKind::Call(call) => match call.callee {
                Callee::Function(it) => &*module.function(it).name == "pthread_create",
                _ => false,
            },
            _ => false,
        });
        assert!(created, "{clang}");
        let optimised = compile_with(&clang, &program("stack.c"), "-O2");
        assert_eq!(optimised.optimised, Some(Optimised::CompileUnit), "{clang}");
    }
}

/// The names of addresses, and of what was allocated, are those of the source.
#[test]
fn addresses_are_written_as_in_the_source() {
    for clang in clangs() {
        let module = compile_with(&clang, &program("names.c"), "-O0");
        let id = module.function_named("use").expect("a function");
        let stored: Vec<_> = instrs(module.function(id))
            .filter_map(|instr| match instr.kind {
                InstrKind::Store { address, .. } => module.lvalue(id, address),
                _ => None,
            })
            .map(|lvalue| lvalue.text)
            .collect();
        let wanted = [
            "list",
            "n",
            "n->key",
            "n->next",
            "list->first",
            "list->first->next",
            "list->first->next->key",
            "global.first",
            "table[2].in.deep",
            "*count",
            "pair[1]",
            "items",
        ];
        assert_eq!(stored, wanted, "{clang}");
        let allocations: Vec<_> = instrs(module.function(id))
            .filter(|instr| match &instr.kind {
                InstrKind::Call(call) => match call.callee {
                    Callee::Function(it) => &*module.function(it).name == "malloc",
                    _ => false,
                },
                _ => false,
            })
            .filter_map(|instr| module.allocated(id, instr.result?))
            .collect();
        let pointee = |which: usize, offset| allocations[which].pointee(&module.debug, offset);
        assert_eq!(pointee(0, 8).as_deref(), Some("n->next"), "{clang}");
        assert_eq!(pointee(1, 0).as_deref(), Some("list->first->next->key"), "{clang}");
        assert_eq!(pointee(2, 40).as_deref(), Some("items[2].next"), "{clang}");
        assert_eq!(pointee(2, 44), None);
    }
}

#[test]
fn cxx_is_read_with_its_exceptions() {
    for clang in clangs() {
        let module = compile_with(&clang, &program("flag.cpp"), "-O0");
        let receive = function(&module, "_ZN3app7receiveERNS_7MessageE");
        let at = receive.subprogram.map(|it| module.debug.subprogram(it)).expect("a function");
        assert_eq!((&*at.scope, &*at.name), ("app", "receive"));
        assert!(instrs(receive).any(|it| matches!(it.kind, InstrKind::Invoke { .. })), "{clang}");
        assert!(
            instrs(receive).any(|it| matches!(it.kind, InstrKind::LandingPad { .. })),
            "{clang}"
        );
        let message = module.global_named("_ZN3app7messageE").expect("a global");
        let debug = module.global(message).debug.as_ref().expect("debug information");
        let ty = debug.ty.expect("a type");
        assert_eq!(&*debug.name, "message");
        // Not `.ready._M_base._M_i`.
        assert_eq!(module.debug.describe(ty, 4).as_deref(), Some(".ready"), "{clang}");
        compile_with(&clang, &program("flag.cpp"), "-O2");
    }
}

#[test]
fn rust_is_read_with_places_of_the_user() {
    let file = program("counter.rs");
    let compiled = match compile::compile(&file, &Options::default()) {
        Ok(compiled) => compiled,
        Err(Failure::NoRustc { .. }) => return eprintln!("no rustc: skipped"),
        Err(failure) => panic!("{failure}"),
    };
    let module = compiled.module;
    assert!(compiled.warnings.is_empty() && module.optimised.is_none());
    let named = |name: &str| {
        let is = |function: &&Function| {
            let subprogram = function.subprogram.map(|it| module.debug.subprogram(it));
            !function.is_declaration() && subprogram.is_some_and(|it| &*it.name == name)
        };
        module.functions.iter().find(is).unwrap_or_else(|| panic!("no {name}"))
    };
    let work = named("work");
    let shared = work.variables.iter().find(|it| &*it.name == "shared").expect("a variable");
    let ty = shared.ty.and_then(|ty| module.debug.pointee(ty)).expect("a pointer");
    let hits = (0..64).find(|&at| module.debug.describe(ty, at).as_deref() == Some(".hits"));
    assert!(hits.is_some(), "not `.hits.v.value`");
    let total =
        module.globals.iter().find_map(|it| it.debug.as_ref().filter(|it| &*it.name == "TOTAL"));
    assert_eq!(total.map(|it| it.line), Some(10));
    // The operation is in the library; the call is the user's.
    let rmw = module
        .functions
        .iter()
        .flat_map(instrs)
        .find(|instr| matches!(instr.kind, InstrKind::ReadModifyWrite { .. }));
    let at = rmw.and_then(|instr| instr.at).expect("a place");
    let within = module.debug.place(at).subprogram.map(|it| module.debug.subprogram(it));
    assert!(within.is_some_and(|it| it.scope.starts_with("core::sync::atomic")));
    let ours = instrs(work).filter_map(|instr| instr.at);
    let ours =
        ours.filter_map(|at| module.debug.first_where(at, |it| it.name.ends_with("counter.rs")));
    let lines: std::collections::BTreeSet<u32> = ours.map(|place| place.line).collect();
    assert!(lines.is_superset(&[13, 14, 15].into()), "{lines:?}");
}

#[test]
fn several_files_are_compiled_and_linked() {
    if clangs().is_empty() {
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    let write = |name: &str, text: &str| {
        let path = folder.path().join(name);
        std::fs::write(&path, text).expect("a file");
        path
    };
    let a = write("a.c", "extern int f(int); int main(void) { return f(VALUE); }");
    let b = write("b.cpp", "extern \"C\" int f(int x) { return x; }");
    let options = Options { flags: vec!["-DVALUE=3".into(), "-O2".into()], database: None };
    let compiled = compile::load(&[a.clone(), b], &options).expect("linkable");
    assert!(!function(&compiled.module, "f").is_declaration());
    // The user's -O2 does not win.
    assert_eq!(compiled.module.optimised, None);
    let failure = compile::compile(&a, &Options::default()).expect_err("VALUE is missing");
    let Failure::Rejected { messages, .. } = &failure else { panic!("{failure}") };
    assert!(messages.contains("a.c:1:") && messages.contains("VALUE"), "{messages}");

    write(
        "compile_commands.json",
        &format!(
            r#"[{{"directory": "{}", "file": "a.c", "command": "gcc -O3 -DVALUE=5 -fmade-up-by-gcc -c a.c -o a.o"}}]"#,
            folder.path().display()
        ),
    );
    let options = Options { flags: Vec::new(), database: Some(folder.path().to_owned()) };
    let compiled = compile::compile(&a, &options).unwrap_or_else(|failure| panic!("{failure}"));
    let main = function(&compiled.module, "main");
    let called_with_5 = instrs(main).any(|instr| match &instr.kind {
        InstrKind::Call(call) => call.args.iter().any(|arg| match arg.value {
            fencepost_llvm::Operand::Const(it) => {
                compiled.module.constant(it).kind == ConstantKind::Int(5)
            }
            _ => false,
        }),
        _ => false,
    });
    assert!(called_with_5);
    let other = write("other.c", "int x;");
    let failure = compile::compile(&other, &options).expect_err("no entry");
    assert!(failure.to_string().contains("there is no entry for"), "{failure}");
}

#[test]
fn rust_without_main_is_a_library() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("lib.rs");
    std::fs::write(&path, "#[unsafe(no_mangle)] pub fn f(x: u32) -> u32 { x.wrapping_add(1) }")
        .expect("a file");
    match compile::compile(&path, &Options::default()) {
        Ok(compiled) => assert!(!function(&compiled.module, "f").is_declaration()),
        Err(Failure::NoRustc { .. }) => return eprintln!("no rustc: skipped"),
        Err(failure) => panic!("{failure}"),
    }
    std::fs::write(&path, "fn main() { let x: u32 = \"a\"; }").expect("a file");
    let failure = compile::compile(&path, &Options::default()).expect_err("wrong types");
    let said = failure.to_string();
    assert!(said.contains("rustc does not compile it:\n") && said.contains("E0308"), "{said}");
}

#[test]
fn files_that_cannot_be_read_are_refused() {
    let folder = tempfile::tempdir().expect("a folder");
    let failure = |name: &str, bytes: Option<&[u8]>| {
        let path = folder.path().join(name);
        if let Some(bytes) = bytes {
            std::fs::write(&path, bytes).expect("a file");
        }
        let failure = compile::compile(&path, &Options::default()).expect_err("refused");
        failure.to_string().replace(&format!("{}/", folder.path().display()), "")
    };
    let unknown = "x.py: not a source that can be compiled: its name should end in .c, .cc, .cpp, .cxx, .rs or .ll";
    assert_eq!(failure("x.py", Some(b"")), unknown);
    assert!(failure("missing.c", None).starts_with("missing.c: cannot be read: "));
    let bitcode = "x.ll: this is bitcode, not text: `llvm-dis` makes text of it";
    assert_eq!(failure("x.ll", Some(b"BC\xc0\xde....")), bitcode);
    assert_eq!(failure("y.ll", Some(b"\n\xff")), "y.ll: this is no text: line 2 is not UTF-8");
    assert_eq!(failure("z.ll", Some(b"what")), "z.ll:1:1: expected a definition, found `what`");
}

#[test]
fn optimised_ir_is_warned_about() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/ir/newest.ll");
    let compiled = compile::compile(&path, &Options::default()).expect("readable");
    assert!(compiled.warnings[0].contains("compiled with optimisation"), "{:?}", compiled.warnings);
}
