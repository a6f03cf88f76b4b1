//! What the page says and how it reacts, in a real browser. How it looks is measured in `page.rs`.

mod chromium;
mod run;

use chromium::{Shown, scheme, size};
use run::{Desk, run_at_root};
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// The page about files of the corpus, and the same findings as JSON.
fn page(arguments: &str) -> (Desk, PathBuf, Vec<Value>) {
    let desk = Desk::new();
    let (path, objects) = page_in(&desk, arguments);
    (desk, path, objects)
}

fn page_in(desk: &Desk, arguments: &str) -> (PathBuf, Vec<Value>) {
    let path = desk.path().join("report.html");
    run_at_root(&format!("check --html {} {arguments}", path.display()));
    let objects = run_at_root(&format!("check --json {arguments}"));
    let parse = |line| serde_json::from_str(line).expect("an object");
    let objects = objects.stdout.lines().map(parse).collect();
    (path, objects)
}

/// The page about message passing that is not robust, without an assertion that fails as well: one finding.
fn page_of_one_finding() -> (Desk, PathBuf, Vec<Value>) {
    let desk = Desk::new();
    let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../corpus/litmus/mp-rlx.fp");
    let text = std::fs::read_to_string(corpus).expect("a program");
    let without = |line: &str| match line.trim_start().starts_with("assert(") {
        true => "        skip;".to_string(),
        false => line.to_string(),
    };
    let text: Vec<String> = text.lines().map(without).collect();
    let file = desk.path().join("mp.fp");
    std::fs::write(&file, text.join("\n")).expect("a file");
    let (path, objects) = page_in(&desk, &file.display().to_string());
    (desk, path, objects)
}

/// The drawing has the events and edges of the certificate, and switches hide and show kinds of edges.
#[test]
fn the_graph_is_the_certificate() {
    let (_desk, path, objects) = page_of_one_finding();
    let Some(shown) = Shown::open(&path) else { return };
    let proof = &objects[0]["witness"]["certificate"];
    let events = proof["events"].as_array().expect("events");
    let accesses = events.iter().filter(|e| e["kind"] != "control" && e["kind"] != "initial");
    assert_eq!(shown.count(".wide .node:not(.k-initial)"), accesses.count() as u64);
    assert_eq!(shown.count(".wide .edge.e-rf"), proof["rf"].as_array().expect("rf").len() as u64);
    assert_eq!(shown.count(".wide .edge.e-fr"), proof["fr"].as_array().expect("fr").len() as u64);
    assert_eq!(
        shown.count(".wide .edge.cycle"),
        proof["cycle"].as_array().expect("a cycle").len() as u64
    );
    let wrong = shown.ask("document.querySelector('.node.wrong').dataset.events");
    assert_eq!(wrong, proof["access"].to_string().as_str());

    let visible = "[...document.querySelectorAll('.edge.e-rf')].filter(e => getComputedStyle(e).display !== 'none').length";
    assert!(shown.ask(visible).as_u64() > Some(0));
    shown.click("input[data-edge=rf]");
    assert_eq!(shown.ask(visible), 0);
    assert!(shown.ask(&visible.replace("e-rf", "e-po")).as_u64() > Some(0), "others stay");
    shown.click("input[data-edge=rf]");
    assert!(shown.ask(visible).as_u64() > Some(0));

    // An event under the mouse or with the focus shows its line.
    shown.ask("document.querySelector('.node.wrong').focus()");
    let lit = shown.ask("document.querySelector('.ln.lit').dataset.line");
    assert_eq!(
        lit,
        events[proof["access"].as_u64().expect("an event") as usize]["line"].to_string().as_str()
    );
    shown.no_complaints();
}

/// The player goes through the states of the run and ends where it goes wrong.
#[test]
fn the_player_steps() {
    let (_desk, path, objects) = page_of_one_finding();
    let Some(shown) = Shown::open(&path) else { return };
    let steps = shown.count(".cell");
    assert_eq!(shown.text(".controls output"), format!("step {steps} of {steps}"));
    assert_eq!(shown.text(".cell.now .effect"), "may read 0");
    assert!(shown.text(".state").contains("data = 1"), "{}", shown.text(".state"));
    assert_eq!(shown.text(".chip.forbidden"), "data = 0");
    assert_eq!(shown.text(".verdict"), "reader, line 27: may read 0");

    shown.click("[data-do=first]");
    assert_eq!(shown.text(".controls output"), format!("step 0 of {steps}"));
    assert!(shown.text(".memory").contains("data = 0"));
    assert_eq!(shown.count(".verdict"), 0);
    assert_eq!(shown.count(".node.future"), shown.count(".node:not(.k-initial)"));

    // Memory after every step is what the JSON says.
    let run = objects[0]["witness"]["run"].as_array().expect("a run");
    let mut memory: Vec<(String, i64)> = objects[0]["witness"]["start"]["memory"]
        .as_array()
        .expect("locations")
        .iter()
        .map(|h| {
            (h["location"].as_str().expect("a name").into(), h["value"].as_i64().expect("a value"))
        })
        .collect();
    for step in run.iter().filter(|step| step["action"] != "jump") {
        shown.click("[data-do=step]");
        if let (Some(location), Some(value)) = (step["location"].as_str(), step["written"].as_i64())
        {
            let held = memory.iter_mut().find(|(name, _)| name == location).expect("declared");
            held.1 = value;
        }
        let expected: Vec<String> = memory.iter().map(|(l, v)| format!("{l} = {v}")).collect();
        assert_eq!(shown.text(".memory .cells"), expected.concat());
    }
    shown.click("[data-do=back]");
    let at = shown.text(".controls output");
    shown.click("[data-do=step]");
    assert_ne!(shown.text(".controls output"), at);
    shown.click("[data-do=last]");
    assert_eq!(shown.text(".cell.now .effect"), "may read 0");
    shown.click(".cell[data-step='1']");
    assert_eq!(shown.text(".controls output"), format!("step 1 of {steps}"));
    shown.no_complaints();
}

#[test]
fn the_keyboard_works() {
    let (_desk, path, _) = page_of_one_finding();
    let Some(shown) = Shown::open(&path) else { return };
    let steps = shown.count(".cell");
    let at =
        |step: u64| assert_eq!(shown.text(".controls output"), format!("step {step} of {steps}"));
    let press = |key: &str| {
        shown.tab.press_key(key).expect("a key");
    };
    // On a fresh page nothing has the focus.
    assert_eq!(shown.ask("document.activeElement === document.body"), true);
    press("Home");
    at(0);
    press("End");
    at(steps);
    press("Home");
    press(" ");
    assert_eq!(shown.text(".play"), "Pause");
    press(" ");
    assert_eq!(shown.text(".play"), "Play");
    // A link that has the focus keeps its keys.
    shown.ask("document.querySelector('a[href]').focus()");
    press("End");
    assert_ne!(shown.text(".controls output"), format!("step {steps} of {steps}"));
    shown.ask("document.querySelector('.player').focus()");
    press("Home");
    at(0);
    press("ArrowRight");
    press("ArrowRight");
    at(2);
    press("ArrowLeft");
    at(1);
    press("End");
    at(steps);
    press("Home");
    press(" ");
    assert_eq!(shown.text(".play"), "Pause");
    press(" ");
    assert_eq!(shown.text(".play"), "Play");
    // Everything that can be clicked can be reached by the keyboard and has a name.
    let nameless = "[...document.querySelectorAll('button, input, .node, summary, a[href]')]\
        .filter(e => e.tabIndex < 0 || !(e.ariaLabel || e.textContent.trim() || e.closest('label'))).length";
    assert_eq!(shown.ask(nameless), 0);
    shown.no_complaints();
}

/// On a machine with store buffers, stores wait in the buffer and then reach memory.
#[test]
fn buffers_fill_and_drain() {
    let (_desk, path, _) = page("--model tso corpus/litmus/sb-rlx.fp");
    let Some(shown) = Shown::open(&path) else { return };
    assert_eq!(shown.count(".chip.buffered"), 0);
    shown.click("[data-do=first]");
    shown.click("[data-do=step]");
    assert_eq!(shown.text(".chip.buffered"), "x = 1");
    assert!(shown.text(".memory").contains("x = 0"), "not in memory yet");
    shown.click("[data-do=last]");
    assert_eq!(shown.count(".chip.buffered"), 0);
    assert!(shown.text(".memory").contains("x = 1"));
    assert_eq!(shown.count(".wide .edge.cycle"), 4);
    shown.no_complaints();
}

/// Many files, races, assertions: no complaints, a filter, links that open what they point to, nothing
/// wider than a phone.
#[test]
fn many_files() {
    let (_desk, path, objects) = page("--all corpus/litmus");
    let Some(shown) = Shown::open(&path) else { return };
    let violated = objects.iter().filter(|object| object["verdict"] == "violated").count();
    assert_eq!(shown.count(".finding"), violated as u64);
    assert_eq!(shown.count(".finding svg.execution.wide"), violated as u64);
    assert_eq!(shown.count(".finding svg.execution.narrow"), violated as u64);
    shown.click("[data-filter=violated]");
    let rows = "[...document.querySelectorAll('.summary tbody tr')].filter(r => !r.hidden)";
    let others = format!("{rows}.filter(r => r.dataset.verdict !== 'violated').length");
    assert_eq!(shown.ask(&others), 0);
    let last = "[...document.querySelectorAll('details.file')].pop()";
    shown.ask(&format!("{last}.open = false"));
    shown.ask(&format!("location.hash = '#' + {last}.id"));
    std::thread::sleep(Duration::from_millis(300));
    assert_eq!(shown.ask(&format!("{last}.open")), true);
    shown.ask("document.querySelectorAll('details').forEach(d => d.open = true)");
    size(&shown.tab, 390, 800, true);
    let wider = "document.documentElement.scrollWidth - document.documentElement.clientWidth";
    assert_eq!(shown.ask(wider), 0, "the page is wider than the phone");
    shown.no_complaints();
}

/// A history of a library: time goes down, arrows go from calls and returns to where they arrive, and the
/// player ends with the step that the specification cannot follow.
#[test]
fn timeline() {
    let desk = Desk::new();
    let path = desk.path().join("report.html");
    let files = "corpus/refine/example-2-1-stale.fp";
    run_at_root(&format!("refine --html {} {files}", path.display()));
    let Some(shown) = Shown::open(&path) else { return };
    assert_eq!(shown.text(".graph h4"), "Timeline");
    assert_eq!(shown.count(".wide .node.k-arrival"), 2);
    assert_eq!(shown.count(".wide .edge[data-kind=propagation]"), 2);
    assert_eq!(shown.text(".node.wrong .label"), "return 0");
    let tops = "[...document.querySelectorAll('.wide .node rect')].map(r => r.getBoundingClientRect().top)";
    assert_eq!(shown.ask(&format!("(t => t.every((y, i) => !i || t[i - 1] < y))({tops})")), true);
    shown.click(".toggle.e-propagation input");
    assert_eq!(shown.count(".wide .edge[data-kind=propagation].off"), 2);
    let last = shown.count(".cell");
    assert_eq!(shown.count(".cell.now.wrong"), 1, "the player starts at the end");
    for (key, step) in [("first", 0), ("step", 1), ("step", 2), ("back", 1), ("last", last)] {
        shown.click(&format!("[data-do={key}]"));
        assert_eq!(shown.text("output"), format!("step {step} of {last}"));
    }
    shown.click("[data-do=back]");
    assert_eq!(shown.count(".wide .node.wrong.future"), 1, "not there yet");
    shown.no_complaints();
}

/// Lines of several files are shown under the file's name, and an event finds its own.
#[test]
fn files_read_as_one() {
    let desk = Desk::new();
    let path = desk.path().join("report.html");
    let files = ["rcu1-spec", "rcu1-no-fence", "rcu1-client"]
        .map(|name| format!("corpus/refine/{name}.fp"));
    run_at_root(&format!("refine --html {} {}", path.display(), files.join(" ")));
    let Some(shown) = Shown::open(&path) else { return };
    assert_eq!(shown.count(".lines .part"), 3);
    shown.ask("document.querySelector('.node.wrong').dispatchEvent(new Event('mouseenter'))");
    assert_eq!(shown.text(".ln.lit code").trim(), "return();");
    let number = shown.text(".ln.lit .no");
    assert!(shown.text(".node.wrong .caption").starts_with(&format!("{number}: ")), "{number}");
    shown.no_complaints();
}

/// The page of `orders` and of `fix`: a row for each access, and a click on it shows the execution that goes wrong with less.
#[test]
fn a_click_on_an_order_shows_its_execution() {
    let text = "atomic flag, n; na data;\nthread writer {\n  data.nastore(1);\n  n.store(1, sc);\n  flag.store(1, sc);\n}\n\
        thread reader { local r, d;\n  r = flag.load(sc);\n  if (r == 1) { d = data.naload(); assert(d == 1); }\n}\n";
    let desk = Desk::with(text);
    for (command, weaker) in [
        ("orders", ["`flag.store(1, sc)` with relaxed (", "`r = flag.load(sc)` with relaxed ("]),
        (
            "fix --weaken",
            [
                "`flag.store(1, sc)` with relaxed, not release",
                "`r = flag.load(sc)` with relaxed, not acquire",
            ],
        ),
    ] {
        assert_eq!(desk.run(&format!("{command} --html page.html t.fp")).code, Some(0));
        let Some(shown) = Shown::open(&desk.path().join("page.html")) else { return };
        let links = "[...document.querySelectorAll('.summary tbody th a')]";
        let names = shown.ask(&format!("{links}.map(a => a.textContent)"));
        let names: Vec<&str> =
            names.as_array().expect("names").iter().filter_map(Value::as_str).collect();
        assert_eq!(names.len(), weaker.len(), "{names:?}");
        shown.ask("document.querySelectorAll('details.file').forEach(d => d.open = false)");
        let visible =
            "[...document.querySelectorAll('svg.execution.wide')].filter(s => s.checkVisibility())";
        assert_eq!(shown.ask(&format!("{visible}.length")), 0);
        for (number, (name, weaker)) in names.iter().zip(weaker).enumerate() {
            assert!(name.contains(weaker), "{name}");
            shown.ask(&format!("{links}[{number}].click()"));
            shown.until(&format!("{visible}.length === {}", number + 1));
            // It is the one of this row: a race that both accesses to the data are drawn for.
            let file = format!("{visible}[{number}].closest('details.file')");
            assert_eq!(
                shown.ask(&format!("{file}.querySelector('summary h2').textContent")),
                *name
            );
            let title = shown.ask(&format!("{file}.querySelector('.finding h3').textContent"));
            assert!(title.as_str().is_some_and(|t| t.contains("race on data")), "{title}");
            let in_view = format!(
                "(r => r.top < innerHeight && r.bottom > 0)({file}.getBoundingClientRect())"
            );
            shown.until(&in_view);
        }
        shown.no_complaints();
    }
}

/// What stands in a comment or a name is text.
#[test]
fn nothing_in_a_program_is_executed() {
    let desk = Desk::new().and(
        "<img src=x onerror=document.title=1>.fp",
        "atomic x, y; // <script>document.title = 'broken in'</script>\n\
         thread left { local a; x.store(1, rlx); /* </script><script>document.title = 2</script> */ a = y.load(rlx); }\n\
         thread right { local b; y.store(1, rlx); b = x.load(rlx); } // <img src=x onerror=\"document.title=3\">\n",
    );
    desk.run("check --html report.html .");
    let Some(shown) = Shown::open(&desk.path().join("report.html")) else { return };
    let title = shown.ask("document.title");
    assert!(title.as_str().is_some_and(|title| title.starts_with("Fencepost: ")), "{title}");
    assert_eq!(shown.count("img"), 0);
    assert!(shown.text(".lines").contains("<script>document.title = 'broken in'</script>"));
    shown.no_complaints();
}

/// Text is readable in both themes: WCAG's contrast of at least 4.5.
#[test]
fn light_and_dark() {
    let (_desk, path, _) = page("corpus/litmus/mp-rlx.fp corpus/litmus/mp-ra.fp");
    let Some(shown) = Shown::open(&path) else { return };
    let contrast = include_str!("contrast.js");
    for theme in ["light", "dark"] {
        scheme(&shown.tab, theme);
        let poor = shown.ask(contrast);
        assert_eq!(poor, serde_json::json!([]), "{theme}");
    }
    shown.click("#theme");
    assert_eq!(shown.ask("document.documentElement.dataset.theme"), "dark");
    assert_eq!(shown.ask(contrast), serde_json::json!([]));
    shown.no_complaints();
}
