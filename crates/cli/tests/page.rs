//! How the page looks, measured in a real browser: nothing lies on anything else, everything can be read, on screens
//! of any width, in both themes, and on paper.
//!
//! The pictures in `docs/img` are made here, too:
//!
//! ```text
//! cargo test -p fencepost --test page -- --ignored screenshots
//! ```

mod chromium;
mod run;

use chromium::{Shown, media, scheme, size};
use headless_chrome::protocol::cdp::Page::CaptureScreenshotFormatOption;
use headless_chrome::types::PrintToPdfOptions;
use run::{Desk, run_at_root};
use serde_json::json;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Pages of all kinds: what to run to get them.
const KINDS: [(&str, &str); 6] = [
    (
        "rc11",
        "check --all corpus/litmus corpus/algorithms/*-unfenced.fp corpus/algorithms/*-rlx*.fp corpus/seq-cst",
    ),
    ("ra", "check --model ra --all corpus/litmus corpus/tables/rc20"),
    ("tso", "check --model tso corpus/litmus corpus/store-atomic"),
    ("races", "check --all corpus/language corpus/premises"),
    ("serial", "serial --from corpus/serial/task-pool.fp"),
    ("refine", "refine corpus/refine/example-2-1-stale.fp"),
];

/// The page that a command writes.
fn page(desk: &Desk, name: &str, command: &str) -> PathBuf {
    let path = desk.path().join(format!("{name}.html"));
    let limits = if command.starts_with("check") { "--limit-time 2s" } else { "" };
    run_at_root(&format!("{command} {limits} --html {}", path.display()));
    assert!(path.is_file(), "{command}");
    path
}

const OPEN: &str = "document.querySelectorAll('details').forEach(d => d.open = true)";
const ALL_EDGES: &str =
    "document.querySelectorAll('.toggle input').forEach(i => { if (!i.checked) i.click(); })";

/// Names of edges keep clear of each other, of nodes and of threads' names: with the edges shown at first, with all of
/// them, and on a phone. Next to no edge goes without a name for it.
#[test]
fn names_of_edges_stand_free() {
    let desk = Desk::new();
    let mut measured = 0;
    for (name, command) in KINDS {
        let Some(shown) = Shown::open(&page(&desk, name, command)) else { return };
        shown.ask(OPEN);
        for width in [1280, 390] {
            size(&shown.tab, width, 900, width < 500);
            for all in [false, true] {
                if all {
                    shown.ask(ALL_EDGES);
                }
                let seen = shown.ask(include_str!("overlaps.js"));
                assert_eq!(seen["found"], json!([]), "{name}, {width} pixels, all edges: {all}");
                let (names, nameless) = (&seen["names"], &seen["nameless"]);
                let (names, nameless) =
                    (names.as_u64().unwrap_or(0), nameless.as_u64().unwrap_or(0));
                assert!(names > 0, "{name}");
                assert!(
                    nameless * 50 <= names || width < 500,
                    "{name}: {nameless} of {names} edges have no name"
                );
                measured += names;
            }
        }
        shown.no_complaints();
    }
    assert!(measured > 1000, "{measured}");
}

/// Two accesses that race are both red, and an edge says so.
#[test]
fn races_have_an_edge() {
    let desk = Desk::new().and(
        "race.fp",
        "atomic flag; na data;\n\
         thread writer { data.nastore(7); flag.store(1, rlx); }\n\
         thread reader { local f, d; f = flag.load(rlx); if (f) { d = data.naload(); } }\n",
    );
    desk.run("check --html report.html race.fp");
    let Some(shown) = Shown::open(&desk.path().join("report.html")) else { return };
    let race = "[...document.querySelectorAll('.finding')].find(f => f.querySelector('.e-race'))";
    let wrong =
        format!("[...{race}.querySelectorAll('.wide .node.wrong .label')].map(l => l.textContent)");
    assert_eq!(shown.ask(&wrong), json!(["write data = 7  na", "read data = 7  na"]));
    let edge = format!(
        "(e => [e.dataset.from, e.dataset.to, e.querySelector('text').textContent])\
         ({race}.querySelector('.wide .edge.e-race'))"
    );
    let ends = shown.ask(&edge);
    let wrong_nodes = shown.ask(&format!(
        "[...{race}.querySelectorAll('.wide .node.wrong')].map(n => n.dataset.node)"
    ));
    assert_eq!(json!([ends[0], ends[1]]), wrong_nodes);
    assert_eq!(ends[2], "race");
    shown.no_complaints();
}

/// Every note begins under the code it is about.
#[test]
fn notes_stand_under_their_code() {
    let desk = Desk::new().and(
        "one-line.fp",
        "atomic x, y;\n\
         thread left {\tlocal a;\tx.store(1, rlx);\ta = y.load(rlx); }\n\
         thread right { local b; y.store(1, rlx); b = x.load(rlx); }\n",
    );
    desk.run("check --html report.html one-line.fp");
    let corpus = page(&desk, "corpus", "check --all corpus/litmus");
    let misplaced = "[...document.querySelectorAll('.ann')].filter(note => {
        let line = note.previousElementSibling;
        while (line.classList.contains('ann')) line = line.previousElementSibling;
        const range = document.createRange();
        range.selectNodeContents(note);
        const text = range.getBoundingClientRect();
        const arrow = parseFloat(getComputedStyle(note).paddingLeft) + note.getBoundingClientRect().left;
        return ![...line.querySelectorAll('mark')].some(mark => {
            const box = mark.getBoundingClientRect();
            return arrow > box.left - 2 && arrow < box.right;
        }) || text.top < line.getBoundingClientRect().bottom - 1;
    }).map(note => note.textContent)";
    for path in [desk.path().join("report.html"), corpus] {
        let Some(shown) = Shown::open(&path) else { return };
        shown.ask(OPEN);
        assert!(shown.count(".ann") > 0);
        assert_eq!(shown.ask(misplaced), json!([]));
        shown.no_complaints();
    }
}

/// A phone shows both threads of a drawing and of the player side by side, in letters that can be read, and nothing
/// is wider than the phone.
#[test]
fn a_phone_shows_both_threads() {
    let desk = Desk::new();
    for (name, command) in [
        (
            "rc11",
            "check corpus/litmus/mp-rlx.fp corpus/litmus/sb-rlx.fp corpus/tables/rc20/peterson.fp",
        ),
        ("tso", "check --model tso corpus/litmus/sb-rlx.fp"),
        ("serial", "serial --from corpus/serial/task-pool.fp"),
    ] {
        let Some(shown) = Shown::open(&page(&desk, name, command)) else { return };
        size(&shown.tab, 390, 800, true);
        shown.ask(OPEN);
        let wider = "document.documentElement.scrollWidth - document.documentElement.clientWidth";
        assert_eq!(shown.ask(wider), 0, "{name}");
        let outside = "[...document.querySelectorAll('.narrow text.lane, .narrow .node rect, .lanes .lane, .cell')]
            .map(e => e.getBoundingClientRect()).filter(b => b.left < 0 || b.right > 390).length";
        assert_eq!(shown.ask(outside), 0, "{name}");
        let lanes = "[...document.querySelectorAll('.lanes')].every(l => \
            new Set([...l.querySelectorAll('.cell')].map(c => c.getBoundingClientRect().left)).size >= 2)";
        assert_eq!(shown.ask(lanes), true, "{name}");
        let small = "[...document.querySelectorAll('svg.narrow')].map(s => \
            s.getBoundingClientRect().width / s.viewBox.baseVal.width).filter(scale => scale < 0.8)";
        assert_eq!(shown.ask(small), json!([]), "{name}");
        assert_eq!(
            shown.ask("[...document.querySelectorAll('svg.wide')].some(s => s.checkVisibility())"),
            false
        );
        shown.no_complaints();
    }
}

/// Text can be read in both themes, at every step of the player, and on paper: WCAG's contrast of at least 4.5.
#[test]
fn everything_can_be_read() {
    let desk = Desk::new();
    for (name, command) in KINDS {
        let Some(shown) = Shown::open(&page(&desk, name, command)) else { return };
        shown.ask(OPEN);
        shown.ask(ALL_EDGES);
        for (medium, theme) in
            [(None, "light"), (None, "dark"), (Some("print"), "light"), (Some("print"), "dark")]
        {
            media(&shown.tab, medium, theme);
            for step in ["last", "first", "step"] {
                let all = format!(
                    "document.querySelectorAll('[data-do={step}]').forEach(b => b.click())"
                );
                shown.ask(&all);
                let poor = shown.ask(include_str!("contrast.js"));
                assert_eq!(poor, json!([]), "{name}, {theme}, {medium:?}, {step}");
            }
        }
        shown.no_complaints();
    }
}

/// On paper everything is there: what is folded up, all of the source, both sides of every table; controls are not.
#[test]
fn it_can_be_printed() {
    let desk = Desk::new();
    let path = page(&desk, "print", "check --all corpus/litmus/mp-rlx.fp corpus/litmus/sb-rlx.fp");
    let Some(shown) = Shown::open(&path) else { return };
    let closed = "document.querySelectorAll('details:not([open])').length";
    assert_eq!(shown.ask(closed), 1);
    shown.ask("dispatchEvent(new Event('beforeprint'))");
    assert_eq!(shown.ask(closed), 0);
    media(&shown.tab, Some("print"), "dark");
    // A4 less its margins.
    size(&shown.tab, 718, 1000, false);
    let paper = "getComputedStyle(document.body).backgroundColor";
    assert_eq!(shown.ask(paper), "rgb(255, 255, 255)");
    let controls = "[...document.querySelectorAll('.controls, .filters, .toggles, #theme')]\
        .filter(e => e.checkVisibility()).length";
    assert_eq!(shown.ask(controls), 0);
    let cut = "[...document.querySelectorAll('.scroll, .lines, main, .pane')]\
        .filter(e => e.scrollWidth > e.clientWidth + 1 || e.scrollHeight > e.clientHeight + 1)\
        .map(e => e.className)";
    assert_eq!(shown.ask(cut), json!([]));
    let wide = "[...document.querySelectorAll('svg.wide')].every(s => s.getBoundingClientRect().right <= 718)";
    assert_eq!(shown.ask(wide), true);
    shown.ask("dispatchEvent(new Event('afterprint'))");
    assert_eq!(shown.ask(closed), 1, "as it was before");
    media(&shown.tab, None, "light");
    let options =
        PrintToPdfOptions { print_background: Some(true), ..PrintToPdfOptions::default() };
    let pdf = shown.tab.print_to_pdf(Some(options)).expect("a document");
    assert!(pdf.starts_with(b"%PDF"), "not a document");
    shown.no_complaints();
}

/// What was observed in a running program comes with its name, its stacks and its values, and the two accesses are
/// drawn.
#[test]
fn observed_findings_have_stacks() {
    let desk = Desk::new();
    let Some(path) = observed(&desk) else { return };
    let Some(shown) = Shown::open(&path) else { return };
    assert!(shown.text(".observed .code").starts_with("FP"), "a name");
    let frames = shown.ask("[...document.querySelectorAll('.stack li')].map(l => l.textContent)");
    let frames: Vec<String> = serde_json::from_value(frames).expect("texts");
    assert!(frames.iter().any(|f| f.starts_with("#0 ") && f.contains("sb.c:")), "{frames:?}");
    let facts = shown.text(".observed dl");
    assert!(facts.contains("accessed4 bytes"), "{facts}");
    assert!(facts.contains("newest value1"), "{facts}");
    assert!(facts.contains("may be read instead0"), "{facts}");
    assert_eq!(shown.count(".finding:first-of-type .wide .node"), 2);
    assert_eq!(shown.count(".finding:first-of-type .wide .edge.e-fr"), 1);
    let cells = shown.text(".lanes");
    assert!(cells.contains("writes 1") && cells.contains("may read 0"), "{cells}");
    shown.ask(OPEN);
    assert_eq!(shown.ask(include_str!("overlaps.js"))["found"], json!([]));
    shown.no_complaints();
}

/// The page about a run of a program with store buffering; none without a C compiler.
fn observed(desk: &Desk) -> Option<PathBuf> {
    let source = include_str!("sanitizer/sb.c");
    let header = include_str!("sanitizer/run.h");
    for (name, text) in [("sb.c", source), ("run.h", header)] {
        std::fs::write(desk.path().join(name), text).expect("a file");
    }
    let built = desk.run("cc -g -O1 -pthread -o sb sb.c");
    if built.code != Some(0) {
        eprintln!("no C compiler: SKIPPED\n{}", built.stderr);
        return None;
    }
    let path = desk.path().join("run.html");
    for _ in 0..20 {
        let run = desk.run("run --html run.html ./sb");
        if run.stderr.contains("robustness violation") {
            return Some(path);
        }
    }
    panic!("nothing was found in 20 runs");
}

/// The transactions of a cycle have names that tell them apart.
#[test]
fn transactions_have_names() {
    let desk = Desk::new();
    let path = page(&desk, "serial", "serial --from corpus/serial/task-pool.fp");
    let Some(shown) = Shown::open(&path) else { return };
    let names = "[...document.querySelectorAll('.finding:first-of-type .wide .node')].map(n => n.ariaLabel)";
    let names: Vec<String> = serde_json::from_value(shown.ask(names)).expect("names");
    assert!(names.len() >= 2, "{names:?}");
    assert!(names.iter().all(|name| name.contains("transaction at line ")), "{names:?}");
    let mut apart = names.clone();
    apart.sort();
    apart.dedup();
    assert_eq!(apart.len(), names.len(), "{names:?}");
    shown.no_complaints();
}

/// Makes the pictures in `docs/img`: six kinds of findings, and a phone.
#[test]
#[ignore = "writes docs/img"]
fn screenshots() {
    let images = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/img");
    std::fs::create_dir_all(&images).expect("a directory");
    let desk = Desk::new().and(
        "race.fp",
        "// The flag is relaxed, so it does not order the accesses to data.\n\
         atomic flag;\nna data;\n\n\
         thread writer {\n    data.nastore(7);\n    flag.store(1, rlx);\n}\n\n\
         thread reader {\n    local f, d;\n    f = flag.load(rlx);\n    if (f) {\n        d = data.naload();\n    }\n}\n",
    );
    desk.run("check --html race.html race.fp");
    let from = |name: &str, command: &str| page(&desk, name, command);
    let pages = [
        ("stale-read", from("stale-read", "check corpus/litmus/mp-rlx.fp"), "light", (1200, 1160)),
        (
            "store-buffers",
            from("tso", "check --model tso corpus/litmus/sb-rlx.fp"),
            "dark",
            (1200, 960),
        ),
        ("race", desk.path().join("race.html"), "dark", (1200, 1000)),
        (
            "transactions",
            from("serial", "serial --from corpus/serial/task-pool.fp"),
            "light",
            (1200, 1100),
        ),
        (
            "library",
            from("refine", "refine corpus/refine/example-2-1-stale.fp"),
            "light",
            (1200, 1180),
        ),
        ("observed", observed(&desk).expect("a C compiler"), "light", (1200, 1000)),
        (
            "peterson",
            from("peterson", "check corpus/tables/rc20/peterson.fp"),
            "light",
            (1200, 1420),
        ),
        ("phone", from("phone", "check corpus/litmus/mp-rlx.fp"), "light", (390, 1500)),
    ];
    for (name, path, theme, (width, height)) in pages {
        let shown = Shown::open(&path).expect("Chromium");
        size(&shown.tab, width, height, width < 500);
        scheme(&shown.tab, theme);
        if name == "store-buffers" {
            shown.click(".cell[data-step='4']");
        }
        shown.ask("document.querySelector('details').scrollIntoView()");
        std::thread::sleep(Duration::from_millis(400));
        let format = CaptureScreenshotFormatOption::Png;
        let picture = shown.tab.capture_screenshot(format, None, None, true).expect("a picture");
        std::fs::write(images.join(format!("{name}.png")), picture).expect("a file");
    }
}
