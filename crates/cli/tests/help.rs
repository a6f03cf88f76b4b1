//! What users read first.

mod run;

use run::Desk;

#[test]
fn program() {
    golden!(Desk::new().run("--help").stdout);
}

#[test]
fn check() {
    golden!(Desk::new().run("check --help").stdout);
}

#[test]
fn cluster_run() {
    golden!(Desk::new().run("cluster run --help").stdout);
}

#[test]
fn outcomes() {
    golden!(Desk::new().run("outcomes --help").stdout);
}

#[test]
fn fix() {
    golden!(Desk::new().run("fix --help").stdout);
}

#[test]
fn orders() {
    golden!(Desk::new().run("orders --help").stdout);
}

#[test]
fn serial() {
    golden!(Desk::new().run("serial --help").stdout);
}

#[test]
fn refine() {
    golden!(Desk::new().run("refine --help").stdout);
}

#[test]
fn export() {
    golden!(Desk::new().run("export --help").stdout);
}

#[test]
fn play() {
    golden!(Desk::new().run("play --help").stdout);
}

#[test]
fn lsp() {
    golden!(Desk::new().run("lsp --help").stdout);
}

#[test]
fn summaries() {
    let desk = Desk::new();
    golden!(
        ["-h", "check -h", "outcomes -h"].map(|arguments| desk.run(arguments).stdout).join("\n")
    );
}

/// The programs shown in the help texts do what the help says.
#[test]
fn examples_are_true() {
    let sb = "atomic x, y;\n\
        thread left  { local a;  x.store(1, rlx);  a = y.load(rlx); }\n\
        thread right { local b;  y.store(1, rlx);  b = x.load(rlx); }\n";
    let desk = Desk::with(sb).and("fenced.fp", sb.replace("rlx);  ", "rlx); fence(seq_cst); "));
    assert_eq!(desk.run("check t.fp").code, Some(1));
    assert_eq!(desk.run("check fenced.fp").code, Some(0));
    assert!(desk.run("outcomes t.fp").stdout.contains("0       0        forbidden by SC"));

    let mp = "atomic flag;  na data;\n\
        thread writer { data.nastore(7);  flag.store(1, rel); }\n\
        thread reader { local f, d; f = flag.load(acq); if (f) { d = data.naload();  assert(d == 7); } }";
    let desk = Desk::with(mp).and("weak.fp", mp.replace("rel", "rlx"));
    assert_eq!(desk.run("check t.fp").code, Some(0));
    let weak = desk.run("check weak.fp");
    assert_eq!(weak.code, Some(1));
    assert!(weak.stdout.contains("races       violated"), "{}", weak.stdout);
}
