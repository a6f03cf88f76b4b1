//! What README.md and the book in `docs/` say is true: commands print what is shown, and links lead somewhere.
//!
//! After a change of what commands print, `FENCEPOST_UPDATE_PAGES=1 cargo test -p fencepost --test book` writes
//! the new outputs into the pages; read the difference before you commit it.

mod pages;

use pages::{Item, agrees, items, pages, root, run, updated};
use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

fn read(page: &Path) -> String {
    fs::read_to_string(root().join(page))
        .unwrap_or_else(|error| panic!("{}: {error}", page.display()))
}

/// The tools that commands of the pages need. Where one is missing, that is said, and the test passes.
fn missing_tool() -> Option<&'static str> {
    let there = |tool: &&str| Command::new(tool).arg("--version").output().is_ok();
    ["bash", "clang", "gcc", "rustc", "cargo", "make"].into_iter().find(|tool| !there(tool))
}

/// Catches a page that shows what a command no longer prints, or a command that no longer exists.
#[test]
fn commands_print_what_the_pages_say() {
    if let Some(tool) = missing_tool() {
        eprintln!("no {tool}: commands of the pages are not run");
        return;
    }
    let update = std::env::var_os("FENCEPOST_UPDATE_PAGES").is_some();
    let only = std::env::var("FENCEPOST_PAGE").ok();
    let (mut wrong, mut commands) = (String::new(), 0);
    for page in pages() {
        if only.as_ref().is_some_and(|only| !page.to_string_lossy().contains(only.as_str())) {
            continue;
        }
        let text = read(&page);
        let items = items(&text);
        let asked = items.iter().filter(|item| matches!(item, Item::Command { .. })).count();
        if asked == 0 {
            continue;
        }
        let outputs = run(&items);
        let name = page.display();
        assert_eq!(outputs.len(), asked, "{name}: a command ended the shell");
        commands += asked;
        if update {
            fs::write(root().join(&page), updated(&text, &items, &outputs)).expect("a page");
            continue;
        }
        let of_commands = items.iter().filter_map(|item| match item {
            Item::Command { line, command, output } => Some((line, command, output)),
            Item::File { .. } => None,
        });
        for ((line, command, output), printed) in of_commands.zip(&outputs) {
            if !agrees(output, printed) {
                let line = line + 1;
                wrong.push_str(&format!(
                    "{name}:{line}: $ {command}\n--- shown\n{output}--- printed\n{printed}\n"
                ));
            }
        }
    }
    assert!(wrong.is_empty(), "FENCEPOST_UPDATE_PAGES=1 writes the new outputs\n{wrong}");
    assert!(only.is_some() || commands >= 60, "only {commands} commands in all pages");
}

/// Links of a page: what stands in round brackets behind `]`, code left out.
fn links(text: &str) -> Vec<String> {
    let mut links = Vec::new();
    let mut fenced = false;
    for line in text.lines() {
        if line.starts_with("```") {
            fenced = !fenced;
        }
        if fenced || line.starts_with("    ") {
            continue;
        }
        // Every other part is inside backquotes.
        let plain: String = line.split('`').step_by(2).collect::<Vec<_>>().join("_");
        for piece in plain.split("](").skip(1) {
            if let Some((link, _)) = piece.split_once(')') {
                links.push(link.to_string());
            }
        }
    }
    links
}

/// What a heading is called in a link, as GitHub and mdBook do it.
fn anchor(heading: &str) -> String {
    let kept = heading.trim().to_lowercase();
    let kept = kept.chars().filter(|c| c.is_alphanumeric() || matches!(c, ' ' | '-' | '_'));
    kept.map(|c| if c == ' ' { '-' } else { c }).collect()
}

fn anchors(text: &str) -> BTreeSet<String> {
    let mut fenced = false;
    let mut found = BTreeSet::new();
    for line in text.lines() {
        fenced ^= line.starts_with("```");
        if !fenced && line.starts_with('#') {
            found.insert(anchor(line.trim_start_matches('#')));
        }
    }
    found
}

/// Catches links to pages, files and headings that are not there, and links that leave the book, where readers of the
/// built book would find nothing.
#[test]
fn links_lead_somewhere() {
    let mut wrong = Vec::new();
    let mut checked = 0;
    for page in pages() {
        let text = read(&page);
        for link in links(&text) {
            if link.starts_with("https://") || link.starts_with("http://") {
                continue;
            }
            checked += 1;
            let (file, heading) = link.split_once('#').unwrap_or((&link, ""));
            let folder = page.parent().unwrap_or(Path::new(""));
            let target = match file {
                "" => page.clone(),
                file => normal(&folder.join(file)),
            };
            let shown = format!("{}: {link}", page.display());
            if !root().join(&target).exists() {
                wrong.push(format!("{shown}: there is no such file"));
            } else if page.starts_with("docs") && !target.starts_with("docs") {
                wrong.push(format!("{shown}: leads out of the book"));
            } else if !heading.is_empty() && !anchors(&read(&target)).contains(heading) {
                wrong.push(format!("{shown}: there is no such heading"));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(checked > 40, "only {checked} links");
}

/// The path without `..`.
fn normal(path: &Path) -> PathBuf {
    let mut out = PathBuf::new();
    for part in path.components() {
        match part {
            std::path::Component::ParentDir => drop(out.pop()),
            std::path::Component::CurDir => {}
            part => out.push(part),
        }
    }
    out
}

/// Catches pages that the book's table of contents forgets, and lines of it that lead nowhere.
#[test]
fn the_summary_lists_every_page() {
    let summary = PathBuf::from("docs/SUMMARY.md");
    let listed: Vec<PathBuf> =
        links(&read(&summary)).iter().map(|link| Path::new("docs").join(link)).collect();
    let once: BTreeSet<&PathBuf> = listed.iter().collect();
    assert_eq!(once.len(), listed.len(), "a page is listed twice");
    let pages = pages();
    let missing: Vec<&PathBuf> = pages
        .iter()
        .filter(|page| page.starts_with("docs") && **page != summary && !once.contains(page))
        .collect();
    assert!(missing.is_empty(), "not in docs/SUMMARY.md: {missing:?}");
    let nowhere: Vec<&&PathBuf> = once.iter().filter(|page| !pages.contains(page)).collect();
    assert!(nowhere.is_empty(), "in docs/SUMMARY.md, but not there: {nowhere:?}");
}

/// The comparison of outputs is not so lenient that it says yes to everything.
#[test]
fn outputs_are_compared() {
    assert!(agrees("a 1.5 ms\nb\n", "a 20 s\nb\n"));
    assert!(agrees("a\n…\nd\n", "a\nb\nc\nd\n"));
    assert!(agrees("…\nd\n", "d\n"));
    assert!(agrees("x  5 states\n", "x 77 states\n"));
    assert!(!agrees("a\nb\n", "a\n"));
    assert!(!agrees("a\n", "a\nb\n"));
    assert!(!agrees("…\nc\n", "a\nb\n"));
    assert!(!agrees("races holds\n", "races violated\n"));
    assert!(!agrees("", "anything\n"));
}
