//! Decodes `fencepost.toml`. Every complaint points at its place in the text, and all of them are made at once.

use super::{Limits, Project, Settings, at};
use crate::args::{ModelName, RequireName};
use crate::known::{KINDS, Suppression};
use crate::quantity;
use clap::ValueEnum;
use lang::{Diagnostic, suggest};
use report::Ruling;
use std::collections::BTreeMap;
use std::ops::Range;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

const SETTINGS: [&str; 13] = [
    "files",
    "model",
    "require",
    "liveness",
    "observational",
    "stale",
    "unroll",
    "entry",
    "flags",
    "compile-commands",
    "volatile-atomic",
    "stubs",
    "expect",
];
const PROJECT: [&str; 3] = ["limits", "program", "suppress"];
const LIMITS: [&str; 3] = ["states", "memory", "time"];
const SUPPRESS: [&str; 4] = ["id", "kind", "where", "reason"];
const PROPERTIES: [&str; 6] = [
    "robustness",
    "observational-robustness",
    "races",
    "assertions",
    "liveness",
    "final-condition",
];

type Value<'a> = Spanned<DeValue<'a>>;

/// What the text says, or all that is wrong with it. `name` is the file's.
pub(super) fn read(text: &str, name: &str) -> Result<Project, Vec<Diagnostic>> {
    let (table, errors) = DeTable::parse_recoverable(text);
    if !errors.is_empty() {
        let complaints = errors.iter().map(|error| {
            let span = error.span().unwrap_or(0..0);
            let help = "the file is TOML: `key = value` a line, texts in \"quotes\", `[[program]]` begins a program";
            at(&span, error.message().to_string()).with_help(help)
        });
        return Err(complaints.collect());
    }
    let mut reader = Reader { text, name, wrong: Vec::new() };
    let project = reader.project(table.get_ref());
    reader.wrong.sort_by_key(|why| why.span().map(|span| span.start));
    if reader.wrong.is_empty() { Ok(project) } else { Err(reader.wrong) }
}

struct Reader<'t> {
    text: &'t str,
    name: &'t str,
    wrong: Vec<Diagnostic>,
}

impl Reader<'_> {
    fn project(&mut self, table: &DeTable<'_>) -> Project {
        let keys: Vec<&str> = SETTINGS.iter().chain(&PROJECT).copied().collect();
        self.known_keys(table, &keys);
        let mut project = Project { common: self.settings(table), ..Project::default() };
        // Functions that run as threads belong to one program.
        if let Some(entry) = table.get("entry")
            && !project.common.entry.is_empty()
            && project.common.files.is_empty()
        {
            self.complain(&entry.span(), "`entry` belongs to a `[[program]]` or to `files`");
        }
        if let Some(limits) = table.get("limits") {
            project.limits = self.limits(limits);
        }
        for program in self.tables(table, "program") {
            let (table, span) = program;
            self.known_keys(table, &SETTINGS);
            let settings = self.settings(table);
            if settings.files.is_empty() {
                self.complain(&span, "a program needs `files`");
            }
            project.programs.push(settings);
        }
        for (table, span) in self.tables(table, "suppress") {
            project.suppressions.extend(self.suppression(table, &span));
        }
        project
    }

    /// The tables of an array of tables.
    fn tables<'v, 'i>(
        &mut self,
        table: &'v DeTable<'i>,
        key: &str,
    ) -> Vec<(&'v DeTable<'i>, Range<usize>)> {
        let Some(value) = table.get(key) else { return Vec::new() };
        let mut tables = Vec::new();
        let DeValue::Array(array) = value.get_ref() else {
            self.complain(&value.span(), &format!("expected `[[{key}]]`, in double brackets"));
            return tables;
        };
        for element in array.iter() {
            match element.get_ref() {
                DeValue::Table(table) => tables.push((table, element.span())),
                _ => self.complain(
                    &element.span(),
                    &format!("expected a table, as `[[{key}]]` begins one"),
                ),
            }
        }
        tables
    }

    fn settings(&mut self, table: &DeTable<'_>) -> Settings {
        let get = |key: &str| table.get(key);
        let path = |text: String| text.into();
        Settings {
            files: get("files").map_or_else(Vec::new, |value| self.texts(value)),
            model: get("model").map_or_else(Vec::new, |value| {
                let names = self.texts(value);
                names
                    .iter()
                    .filter_map(|(name, span)| self.choice::<ModelName>(name, span))
                    .collect()
            }),
            require: get("require").and_then(|value| {
                let (name, span) = self.text(value)?;
                self.choice::<RequireName>(&name, &span)
            }),
            liveness: get("liveness").and_then(|value| self.boolean(value)),
            observational: get("observational").and_then(|value| self.boolean(value)),
            stale: get("stale").and_then(|value| self.number(value, 1, 190)),
            unroll: get("unroll").and_then(|value| self.number(value, 1, i64::from(u32::MAX))),
            entry: get("entry").map_or_else(Vec::new, |value| self.plain_texts(value)),
            flags: get("flags").map_or_else(Vec::new, |value| {
                self.plain_texts(value).into_iter().map(Into::into).collect()
            }),
            compile_commands: get("compile-commands")
                .and_then(|value| self.text(value))
                .map(|(text, _)| path(text)),
            volatile_atomic: get("volatile-atomic").and_then(|value| self.boolean(value)),
            stubs: get("stubs").map_or_else(Vec::new, |value| self.stubs(value)),
            expected: get("expect").map_or_else(BTreeMap::new, |value| self.expected(value)),
        }
    }

    fn limits(&mut self, value: &Value<'_>) -> Limits {
        let Some(table) = self.table(value) else { return Limits::default() };
        self.known_keys(table, &LIMITS);
        Limits {
            states: table.get("states").and_then(|value| self.quantity(value, quantity::count)),
            memory: table.get("memory").and_then(|value| self.quantity(value, quantity::bytes)),
            time: table.get("time").and_then(|value| self.quantity(value, quantity::duration)),
        }
    }

    fn stubs(&mut self, value: &Value<'_>) -> Vec<(String, vm::Stub)> {
        let Some(table) = self.table(value) else { return Vec::new() };
        let mut stubs = Vec::new();
        for (function, what) in table {
            let said = match what.get_ref() {
                DeValue::String(text) => text.to_string(),
                DeValue::Integer(number) => number.to_string(),
                _ => String::new(),
            };
            match quantity::stub(&format!("{}={said}", function.get_ref())) {
                Ok(stub) => stubs.push(stub),
                Err(_) => {
                    self.complain(
                        &what.span(),
                        "expected \"ignore\", \"stop\", or the number to return",
                    );
                }
            }
        }
        stubs
    }

    fn expected(&mut self, value: &Value<'_>) -> BTreeMap<String, Ruling> {
        let Some(table) = self.table(value) else { return BTreeMap::new() };
        self.known_keys(table, &PROPERTIES);
        let mut expected = BTreeMap::new();
        for (property, verdict) in table {
            let Some((verdict, span)) = self.text(verdict) else { continue };
            let ruling = match verdict.as_str() {
                "holds" => Ruling::Holds,
                "violated" => Ruling::Violated,
                _ => {
                    self.complain(&span, "expected \"holds\" or \"violated\"");
                    continue;
                }
            };
            expected.insert(property.get_ref().to_string(), ruling);
        }
        expected
    }

    fn suppression(&mut self, table: &DeTable<'_>, span: &Range<usize>) -> Option<Suppression> {
        self.known_keys(table, &SUPPRESS);
        let mut text = |key: &str| table.get(key).and_then(|value| self.text(value));
        let (id, kind, place, reason) = (text("id"), text("kind"), text("where"), text("reason"));
        let (kind, pattern) = match (id, kind, place) {
            (Some((id, _)), None, None) => ("id".to_string(), id),
            (None, kind, place) if kind.is_some() || place.is_some() => {
                if let Some((kind, span)) = &kind {
                    let kinds = KINDS.iter().filter(|kind| **kind != "id");
                    if !kinds.clone().any(|known| known == kind) {
                        let kinds: Vec<&str> = kinds.copied().collect();
                        self.choose(kind, span, "kind of finding", &kinds);
                        return None;
                    }
                }
                let anything = || "*".to_string();
                (
                    kind.map_or_else(anything, |(kind, _)| kind),
                    place.map_or_else(anything, |(p, _)| p),
                )
            }
            _ => {
                let what = "say what is suppressed: either `id`, or `kind` or `where` or both";
                self.complain(span, what);
                return None;
            }
        };
        let Some((reason, _)) = reason else {
            self.complain(span, "say why, by `reason = \"…\"`");
            return None;
        };
        let line = 1 + self.text[..span.start].matches('\n').count();
        let place = format!("{}:{line}", self.name);
        Some(Suppression::new(kind, pattern, place, format!("suppressed: {reason}")))
    }

    /// Complains about keys that mean nothing.
    fn known_keys(&mut self, table: &DeTable<'_>, known: &[&str]) {
        for key in table.keys() {
            if !known.contains(&key.get_ref().as_ref()) {
                self.choose(key.get_ref(), &key.span(), "key", known);
            }
        }
    }

    /// Complains about a word that is none of those that there are.
    fn choose(&mut self, word: &str, span: &Range<usize>, what: &str, known: &[&str]) {
        let help = match suggest::nearest(word, known.iter().copied()) {
            Some(near) => format!("did you mean `{near}`?"),
            None => format!("there are {}", known.join(", ")),
        };
        let shown = report::escape::visible(word);
        self.wrong.push(at(span, format!("there is no {what} `{shown}` here")).with_help(help));
    }

    fn choice<T: ValueEnum>(&mut self, name: &str, span: &Range<usize>) -> Option<T> {
        match T::from_str(name, false) {
            Ok(value) => Some(value),
            Err(_) => {
                let values = T::value_variants().iter().filter_map(ValueEnum::to_possible_value);
                let names: Vec<String> = values.map(|value| value.get_name().to_string()).collect();
                let names: Vec<&str> = names.iter().map(String::as_str).collect();
                self.choose(name, span, "value", &names);
                None
            }
        }
    }

    fn table<'v, 'i>(&mut self, value: &'v Value<'i>) -> Option<&'v DeTable<'i>> {
        match value.get_ref() {
            DeValue::Table(table) => Some(table),
            _ => {
                self.complain(
                    &value.span(),
                    "expected a table, in curly brackets or below `[name]`",
                );
                None
            }
        }
    }

    fn text(&mut self, value: &Value<'_>) -> Option<(String, Range<usize>)> {
        match value.get_ref() {
            DeValue::String(text) => Some((text.to_string(), value.span())),
            _ => {
                self.complain(&value.span(), "expected a text in quotes");
                None
            }
        }
    }

    /// A text, or a list of texts.
    fn texts(&mut self, value: &Value<'_>) -> Vec<(String, Range<usize>)> {
        match value.get_ref() {
            DeValue::Array(array) => array.iter().filter_map(|value| self.text(value)).collect(),
            DeValue::String(text) => vec![(text.to_string(), value.span())],
            _ => {
                self.complain(
                    &value.span(),
                    "expected a text in quotes, or a list of them in square brackets",
                );
                Vec::new()
            }
        }
    }

    fn plain_texts(&mut self, value: &Value<'_>) -> Vec<String> {
        self.texts(value).into_iter().map(|(text, _)| text).collect()
    }

    fn boolean(&mut self, value: &Value<'_>) -> Option<bool> {
        match value.get_ref() {
            DeValue::Boolean(value) => Some(*value),
            _ => {
                self.complain(&value.span(), "expected true or false");
                None
            }
        }
    }

    fn number<T: TryFrom<i64>>(&mut self, value: &Value<'_>, least: i64, most: i64) -> Option<T> {
        let number = match value.get_ref() {
            DeValue::Integer(number) => i64::from_str_radix(number.as_str(), number.radix()).ok(),
            _ => None,
        };
        let number = number.filter(|number| (least..=most).contains(number));
        let number = number.and_then(|number| T::try_from(number).ok());
        if number.is_none() {
            self.complain(&value.span(), &format!("expected a number from {least} to {most}"));
        }
        number
    }

    /// An amount such as `"30s"`, or a number without a unit.
    fn quantity<T>(
        &mut self,
        value: &Value<'_>,
        parse: fn(&str) -> Result<T, String>,
    ) -> Option<T> {
        let text = match value.get_ref() {
            DeValue::String(text) => text.to_string(),
            DeValue::Integer(number) => number.to_string(),
            _ => {
                self.complain(&value.span(), "expected a number, or an amount in quotes");
                return None;
            }
        };
        match parse(&text) {
            Ok(amount) => Some(amount),
            Err(why) => {
                self.complain(&value.span(), &why);
                None
            }
        }
    }

    fn complain(&mut self, span: &Range<usize>, message: &str) {
        self.wrong.push(at(span, message.to_string()));
    }
}
