//! The table of options and of the cases in which each has an effect.
//!
//! Most options of a command are about some of its *cases* only: `--observational` about models in
//! which reads can be stale, `--limit-buffer` about machines with store buffers. An option that is
//! accepted and then ignored lets a user believe that something was checked which was not. So each
//! option of the commands below is listed here with the cases it is about; given in another case it is
//! refused with a sentence that says where it works. The help texts name the cases from the same list,
//! and a test compares the list with the options that there are.

use crate::args::Args;
use crate::compiled;
use clap::parser::ValueSource;
use clap::{ArgMatches, CommandFactory, FromArgMatches};
use sanitizer::compiler::Wrapper;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

/// A command whose options depend on the case at hand.
struct Table {
    command: &'static str,
    /// All cases, in the order in which they are listed to a user.
    cases: &'static [&'static str],
    /// The cases that the arguments ask for.
    asked: fn(&ArgMatches) -> Vec<String>,
    /// What is written before a case's name in a sentence.
    prefix: &'static str,
    /// Options that are about all cases, separated by spaces.
    everywhere: &'static [&'static str],
    /// Options that are about some cases.
    options: &'static [Meaning],
}

/// The cases that an option is about.
struct Meaning {
    /// The option's identifier.
    option: &'static str,
    /// If it is about one value of the option only: that value.
    value: Option<&'static str>,
    /// The cases.
    cases: &'static [&'static str],
}

const fn option(option: &'static str, cases: &'static [&'static str]) -> Meaning {
    Meaning { option, value: None, cases }
}

const fn value(
    option: &'static str,
    value: &'static str,
    cases: &'static [&'static str],
) -> Meaning {
    Meaning { option, value: Some(value), cases }
}

const MODELS: &[&str] = &["rc11", "rc20", "ra", "sc", "tso", "pso", "pgas"];
/// Models by memory orders, where reads can be stale.
const STALE: &[&str] = &["rc11", "rc20", "ra"];
/// Models without buffers.
const GRAPHS: &[&str] = &["rc11", "rc20", "ra", "sc"];
/// Machines with store buffers.
const MACHINES: &[&str] = &["tso", "pso", "pgas"];
const TSO: &[&str] = &["tso"];
/// Models that programs are repaired for.
const REPAIRED: &[&str] = &["tso", "pso", "pgas", "rc11", "rc20", "ra"];

/// Options for programs in C, C++ and Rust.
const CODE: &str = "entry stub volatile_atomic compile_commands flags";
/// What a check may use up.
const LIMITS: &str = "limit_states limit_memory limit_time jobs";
/// Options of processes that check together.
const CLUSTER: &str =
    "hosts process workers join_time checkpoint checkpoint_every resume end_with_stdin";

const RECORDING: &str = "a recording";
const FROM: &str = "--from";
const RANDOM: &str = "--random";

const TABLES: &[Table] = &[
    Table {
        command: "check",
        cases: MODELS,
        asked: models,
        prefix: "--model ",
        everywhere: &[
            CODE,
            LIMITS,
            CLUSTER,
            "inputs config model input strict_values unroll search reduce double_check \
             no_double_check json details quiet no_progress suppressions baseline write_baseline \
             html svg dot sarif junit",
        ],
        options: &[
            option("method", MACHINES),
            option("trf", TSO),
            option("observational", STALE),
            option("no_races", STALE),
            option("liveness", GRAPHS),
            option("require", STALE),
            option("stale", STALE),
            option("all", GRAPHS),
            // Only monitors make states larger and smaller.
            value("reduce", "subsume", STALE),
            option("track", STALE),
        ],
    },
    Table {
        command: "outcomes",
        cases: MODELS,
        asked: models,
        prefix: "--model ",
        everywhere: &[CODE, "input language model limit_states limit_time jobs json quiet"],
        options: &[
            // Interleavings and machines are explored state by state, loops and all.
            option("unroll", STALE),
            option("limit_buffer", MACHINES),
            option("limit_graphs", STALE),
        ],
    },
    Table {
        command: "fix",
        cases: REPAIRED,
        asked: |matches| match matches.get_raw("model") {
            // That SC needs no repair is said by the command.
            Some(raw) => {
                let named = raw.map(|value| value.to_string_lossy().into_owned());
                named.filter(|model| model != "sc").collect()
            }
            None => {
                let mut files = matches.get_many::<PathBuf>("inputs").into_iter().flatten();
                let code = files.all(|file| compiled::is_code(file));
                let orders = matches.get_flag("weaken") || matches.contains_id("only");
                vec![if code || orders { "rc11" } else { "tso" }.to_string()]
            }
        },
        prefix: "--model ",
        everywhere: &[
            CODE,
            LIMITS,
            "inputs language model weaken no_stronger only keep cost write in_place sarif html \
             diff json quiet search",
        ],
        options: &[
            option("observational", STALE),
            option("require", STALE),
            option("trf", TSO),
            option("loop_weight", MACHINES),
        ],
    },
    Table {
        command: "orders",
        cases: REPAIRED,
        // That nothing matters for SC is said by the command.
        asked: |matches| models(matches).into_iter().filter(|model| model != "sc").collect(),
        prefix: "--model ",
        everywhere: &[CODE, LIMITS, "inputs model explain html json quiet"],
        options: &[option("observational", STALE), option("require", STALE)],
    },
    Table {
        command: "serial",
        cases: &[RECORDING, FROM, RANDOM],
        asked: |matches| {
            let given = |id| matches.value_source(id) == Some(ValueSource::CommandLine);
            let case = match () {
                () if given("from") => FROM,
                () if given("random") => RANDOM,
                () => RECORDING,
            };
            vec![case.to_string()]
        },
        prefix: "",
        everywhere: &[],
        options: &[
            option("input", &[RECORDING]),
            option("from", &[FROM]),
            option("limit_buffer", &[FROM]),
            option("reading", &[RECORDING]),
            option("predict", &[RECORDING]),
            option("level", &[RECORDING]),
            option("json", &[RECORDING, FROM]),
            option("quiet", &[RECORDING, FROM]),
            option("random", &[RANDOM]),
            option("threads", &[RANDOM]),
            option("events", &[RANDOM]),
            option("vars", &[RANDOM]),
            option("seed", &[RANDOM]),
            option("commits", &[RANDOM]),
            option("html", &[RECORDING, FROM]),
            option("svg", &[RECORDING, FROM]),
            option("dot", &[RECORDING, FROM]),
            option("sarif", &[RECORDING, FROM]),
            option("junit", &[RECORDING, FROM]),
            option("limit_states", &[FROM]),
            option("limit_memory", &[RECORDING, FROM]),
            option("limit_time", &[RECORDING, FROM]),
            option("jobs", &[FROM]),
        ],
    },
];

/// The models that the arguments name. Without one, which of RC11 and RC20 it is depends on the file;
/// they know the same options.
fn models(matches: &ArgMatches) -> Vec<String> {
    match matches.get_raw("model") {
        Some(raw) => raw.map(|value| value.to_string_lossy().into_owned()).collect(),
        None => vec!["rc11".to_string()],
    }
}

/// Commands that hand all their arguments on.
const HANDING_ON: &[&str] = &["cc", "c++", "rustc", "cargo"];

/// When to use colours: an option of every command that has words of its own.
fn color() -> clap::Arg {
    clap::Arg::new("color")
        .long("color")
        .value_name("WHEN")
        .value_parser(["auto", "always", "never"])
        .default_value("auto")
        .hide_possible_values(true)
        .help("When to use colours: auto (on a terminal, unless NO_COLOR is set), always or never")
}

/// Does what `--color` asks for.
fn paint(matches: &ArgMatches) {
    use anstream::ColorChoice;
    let asked = matches.subcommand().filter(|(name, _)| !HANDING_ON.contains(name));
    let asked = asked.and_then(|(_, matches)| matches.get_one::<String>("color"));
    match asked.map(String::as_str) {
        Some("always") => ColorChoice::Always.write_global(),
        Some("never") => ColorChoice::Never.write_global(),
        _ => {}
    }
}

/// The command line as clap knows it, its help texts with the cases that options are about.
pub(crate) fn command() -> clap::Command {
    let mut whole =
        Args::command().mut_subcommands(|command| match HANDING_ON.contains(&command.get_name()) {
            true => command,
            false => command.arg(color()),
        });
    for table in TABLES {
        whole = whole.mut_subcommand(table.command, |mut command| {
            for meaning in table.options {
                let known = command.get_arguments().any(|arg| arg.get_id() == meaning.option);
                let optional = known && !REQUIRED.contains(&meaning.option);
                if optional && meaning.value.is_none() {
                    let others: Vec<&str> = table
                        .cases
                        .iter()
                        .copied()
                        .filter(|c| !meaning.cases.contains(c))
                        .collect();
                    let cases = match others.len() < meaning.cases.len() {
                        true => format!("[not with {}]", list(table, &others)),
                        false => format!("[only with {}]", list(table, meaning.cases)),
                    };
                    command = command.mut_arg(meaning.option, |arg| {
                        let help = arg.get_help().map(ToString::to_string).unwrap_or_default();
                        let long = arg.get_long_help().map(ToString::to_string);
                        let arg = arg.help(format!("{help} {cases}"));
                        match long {
                            Some(long) => arg.long_help(format!("{long} {cases}")),
                            None => arg,
                        }
                    });
                }
            }
            command
        });
    }
    whole
}

/// Options that make the case what it is: nothing needs to be said about where they work.
const REQUIRED: &[&str] = &["input", "from", "random"];

/// The arguments of this process; if they mean nothing, the sentence that says so.
pub(crate) fn arguments() -> Result<Args, String> {
    let matches = command().get_matches_from(words(std::env::args_os().collect()));
    paint(&matches);
    refusal(&matches).map_or(Ok(()), Err)?;
    Ok(Args::from_arg_matches(&matches).unwrap_or_else(|error| error.exit()))
}

/// The words of the command line. Called by a name such as `fencepost-cc`, this is `fencepost cc`.
fn words(given: Vec<OsString>) -> Vec<OsString> {
    let name = given.first().map(Path::new).and_then(Path::file_name);
    match name.and_then(Wrapper::named) {
        Some(wrapper) => ["fencepost", wrapper.command]
            .map(OsString::from)
            .into_iter()
            .chain(given.into_iter().skip(1))
            .collect(),
        None => given,
    }
}

/// Why an option that was given means nothing here.
fn refusal(matches: &ArgMatches) -> Option<String> {
    let (name, matches) = matches.subcommand()?;
    let table = TABLES.iter().find(|table| table.command == name)?;
    let given = |option: &str| matches.value_source(option) == Some(ValueSource::CommandLine);
    let knows =
        |option: &str| table.everywhere.iter().any(|all| all.split(' ').any(|o| o == option));
    if let Some(option) = CODE.split(' ').find(|option| knows(option) && given(option))
        && no_input_is_code(matches, if knows("inputs") { "inputs" } else { "input" })
    {
        let what = match option {
            "flags" => "-- FLAGS".to_string(),
            option => format!("--{}", flag(table.command, option)),
        };
        return Some(format!("{what} means nothing here: it is about programs in C, C++ and Rust"));
    }
    if table.command == "fix"
        && matches.get_flag("trf")
        && let Some(option) = ["cost", "keep"].into_iter().find(|option| given(option))
    {
        return Some(format!("--{option} means nothing with --trf, which places full fences only"));
    }
    let asked = (table.asked)(matches);
    table.options.iter().find_map(|meaning| {
        let given = given(meaning.option);
        let value_given = |value: &str| {
            let raw = matches.get_raw(meaning.option).into_iter().flatten();
            raw.flat_map(|raw| raw.to_str())
                .flat_map(|raw| raw.split(','))
                .any(|v| v.trim() == value)
        };
        if !given || meaning.value.is_some_and(|value| !value_given(value)) {
            return None;
        }
        let case = asked.iter().find(|case| !meaning.cases.contains(&case.as_str()))?;
        let flag = format!("--{}", flag(table.command, meaning.option));
        let what = meaning.value.map_or(flag.clone(), |value| format!("{flag} {value}"));
        let works = list(table, meaning.cases);
        Some(format!("{what} means nothing with {}{case}: it works with {works}", table.prefix))
    })
}

/// Are all inputs files that are read and not compiled? Of a folder, that is not known yet.
fn no_input_is_code(matches: &ArgMatches, inputs: &str) -> bool {
    let inputs: Vec<&Path> = matches.get_raw(inputs).into_iter().flatten().map(Path::new).collect();
    !inputs.is_empty() && inputs.iter().all(|file| file.is_file() && !compiled::is_code(file))
}

/// What an option is called on the command line.
fn flag(command: &str, option: &str) -> String {
    let whole = Args::command();
    let command = whole.find_subcommand(command);
    let arg = command.and_then(|command| command.get_arguments().find(|a| a.get_id() == option));
    arg.and_then(|arg| arg.get_long()).unwrap_or(option).to_string()
}

/// `--model rc11, rc20 and ra`
fn list(table: &Table, cases: &[&str]) -> String {
    let names = match cases {
        [] => String::new(),
        [only] => (*only).to_string(),
        [first @ .., last] => format!("{} and {last}", first.join(", ")),
    };
    format!("{}{names}", table.prefix)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    /// All options of a command, with the cases they are about.
    fn all(table: &Table) -> Vec<Meaning> {
        let everywhere = table.everywhere.iter().flat_map(|names| names.split(' '));
        let everywhere = everywhere.map(|name| option(name, table.cases));
        let some = table.options.iter().map(|meaning| Meaning { ..*meaning });
        everywhere.chain(some).collect()
    }

    /// Every option of a command is listed with the cases it is about, and nothing else is. A new
    /// option fails here until somebody has thought about where it means something.
    #[test]
    fn every_option_is_listed() {
        let whole = Args::command();
        for table in TABLES {
            let command = whole.find_subcommand(table.command).expect("a command");
            let options: BTreeSet<String> =
                command.get_arguments().map(|arg| arg.get_id().to_string()).collect();
            let all = all(table);
            let listed = all.iter().filter(|meaning| meaning.value.is_none());
            let listed: Vec<String> = listed.map(|meaning| meaning.option.to_string()).collect();
            let names: BTreeSet<String> = listed.iter().cloned().collect();
            assert_eq!(names.len(), listed.len(), "{}: listed twice", table.command);
            assert_eq!(names, options, "{}", table.command);
            for meaning in table.options {
                assert!(!meaning.cases.is_empty());
                assert!(meaning.cases.len() < table.cases.len(), "{}", meaning.option);
                assert!(meaning.cases.iter().all(|case| table.cases.contains(case)));
            }
        }
    }

    /// An option with a value that it takes, as a user would write it.
    fn written(command: &str, meaning: &Meaning) -> Vec<String> {
        let whole = Args::command();
        let command = whole.find_subcommand(command).expect("a command");
        let arg = command.get_arguments().find(|a| a.get_id() == meaning.option).expect("listed");
        let mut words: Vec<String> =
            arg.get_long().map(|long| format!("--{long}")).into_iter().collect();
        words.extend(arg.is_last_set().then(|| "--".to_string()));
        if arg.get_action().takes_values() {
            let first = arg.get_possible_values().first().map(|v| v.get_name().to_string());
            let value = match (meaning.value, meaning.option) {
                (Some(value), _) => value.to_string(),
                (None, "reduce") => "none".to_string(),
                (None, "limit_time" | "join_time" | "checkpoint_every") => "1s".to_string(),
                (None, "stub") => "f=1".to_string(),
                (None, "cost") => "x86".to_string(),
                _ => first.unwrap_or_else(|| "1".to_string()),
            };
            words.push(value);
        }
        words
    }

    /// In every case, an option is accepted if it is listed with it, and refused with a sentence that
    /// names the option and where it works if not.
    #[test]
    fn options_are_refused_where_they_mean_nothing() {
        let (mut accepted, mut refused) = (0, 0);
        for table in TABLES.iter().filter(|table| table.prefix == "--model ") {
            for case in table.cases {
                for meaning in all(table).iter().filter(|m| m.option != "model") {
                    let mut words = vec!["fencepost".to_string(), table.command.to_string()];
                    words.extend(["--model".to_string(), (*case).to_string()]);
                    let own = written(table.command, meaning);
                    let positional = !own[0].starts_with("--");
                    // What comes behind `--` comes behind the file.
                    let last = own[0] == "--";
                    words.extend(last.then(|| "t.fp".to_string()));
                    words.extend(own.clone());
                    if !positional && !last {
                        words.push("t.fp".to_string());
                    }
                    let matches = command().try_get_matches_from(&words).expect("an option");
                    match (meaning.cases.contains(case), refusal(&matches)) {
                        (true, None) => accepted += 1,
                        (false, Some(sentence)) => {
                            assert!(sentence.starts_with(&own[0]), "{sentence}");
                            assert!(sentence.contains(&format!("--model {case}")), "{sentence}");
                            assert!(sentence.contains(meaning.cases[0]), "{sentence}");
                            refused += 1;
                        }
                        (_, said) => panic!("{words:?}: {said:?}"),
                    }
                }
            }
        }
        assert!(accepted > 150 && refused > 20, "{accepted} accepted, {refused} refused");
    }

    /// The commands that a page names: on lines of their own, and between backquotes. What only stands for a command, with
    /// words in capitals or left out, is not one.
    fn commands_of(text: &str) -> Vec<String> {
        let lines = text.lines().map(|line| line.trim_start_matches("$ ").trim_start());
        let inline = text.lines().flat_map(|line| line.split('`').skip(1).step_by(2));
        let mut commands = Vec::new();
        for line in lines.chain(inline).filter(|line| line.starts_with("fencepost ")) {
            // An explanation stands behind two spaces, other commands behind signs of the shell.
            let ends = ["  ", " | ", " && ", " > ", " 2>", ";", " #"];
            let end = ends.iter().filter_map(|end| line.find(end)).min().unwrap_or(line.len());
            let command = line[..end].replace(['\'', '"'], "");
            let stands_for =
                |word: &str| word.chars().all(|c| c.is_ascii_uppercase()) || word.contains('…');
            let words = command.split_whitespace();
            let is_sentence = command.ends_with(':') || command.contains(": ");
            if !is_sentence && !words.clone().any(stands_for) && words.count() > 1 {
                commands.push(command);
            }
        }
        commands
    }

    /// Catches a page that names a command or an option that does not exist, or no longer. Pages that are run have more
    /// tests in `tests/book.rs`; this one is about what they only mention.
    #[test]
    fn commands_of_the_pages_are_understood() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
        let mut folders = vec![root.join("docs")];
        let mut pages: Vec<PathBuf> = ["README.md", "CONTRIBUTING.md", "corpus/README.md"]
            .map(|page| root.join(page))
            .to_vec();
        while let Some(folder) = folders.pop() {
            for entry in std::fs::read_dir(folder).expect("a folder").flatten() {
                let path = entry.path();
                match path.is_dir() {
                    true => folders.push(path),
                    false if path.extension().is_some_and(|e| e == "md") => pages.push(path),
                    false => {}
                }
            }
        }
        let (mut wrong, mut understood) = (Vec::new(), 0);
        for page in pages {
            let text = std::fs::read_to_string(&page).expect("a page");
            for command in commands_of(&text) {
                use clap::error::ErrorKind::{
                    DisplayHelp, DisplayVersion, InvalidValue, MissingRequiredArgument,
                };
                let parsed = |more: &[&str]| {
                    let words = command.split_whitespace().take_while(|word| *word != "<");
                    super::command().try_get_matches_from(words.chain(more.iter().copied()))
                };
                // Where a command is only mentioned, it has no file.
                let matches = parsed(&[]).or_else(|error| match error.kind() {
                    MissingRequiredArgument | InvalidValue => parsed(&["file.fp"]),
                    _ => Err(error),
                });
                match matches {
                    Ok(matches) => match refusal(&matches) {
                        None => understood += 1,
                        Some(why) => wrong.push(format!("{}: {command}: {why}", page.display())),
                    },
                    Err(error) if matches!(error.kind(), DisplayHelp | DisplayVersion) => {
                        understood += 1
                    }
                    Err(error) => wrong.push(format!("{}: {command}: {error}", page.display())),
                }
            }
        }
        assert!(wrong.is_empty(), "{}", wrong.join("\n"));
        assert!(understood > 100, "only {understood} commands");
    }

    /// Defaults are not what somebody asked for.
    #[test]
    fn defaults_are_never_refused() {
        for model in MODELS {
            let words = ["fencepost", "check", "--model", model, "t.fp"];
            let matches = command().try_get_matches_from(words).expect("a command");
            assert_eq!(refusal(&matches), None);
        }
    }
}
