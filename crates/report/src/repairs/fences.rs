//! `fencepost fix` on automata, litmus tests and triangular races: where full fences were put.

use super::Ending;
use crate::document::Document;
use crate::escape::visible;
use crate::text::Detail;
use check::fix::fences::{Aim, Weights};
use lang::Source;
use repair::Fenced;
use serde_json::{Value, json};

/// The fences that make a program robust, or free of triangular races.
pub struct FencesReport<'a> {
    /// The program as it was.
    pub source: &'a Source,
    /// What the fences are for.
    pub aims: &'a [Aim],
    /// What fences cost.
    pub weights: Weights,
}

/// A fence: its line, its column, its thread, and the statement that it stands before.
type Place<'a> = (usize, usize, &'a str, &'a str);

impl<'a> FencesReport<'a> {
    fn places(&self, fenced: &'a Fenced) -> Vec<Place<'a>> {
        let place = |site: &'a check::fix::fences::Site| {
            let span = self.source.span(site.origin);
            let (line, column) = self.source.line_column(span.start);
            (line, column, &*site.thread, self.source.snippet(span))
        };
        let mut places: Vec<_> = fenced.placement.sites.iter().map(place).collect();
        places.sort_unstable();
        places
    }

    /// For people: a line about all fences, and with [`Detail::Stories`] one about each.
    pub fn document(&self, fenced: &Fenced, detail: Detail, ending: Ending) -> Document<'static> {
        let mut document = Document::default();
        let (name, reached) = (visible(&self.source.name), self.reached());
        let places = self.places(fenced);
        let make = match places.len() {
            0 => {
                document.line(format!("{name}: {reached} already"));
                return document;
            }
            1 => "1 fence makes".to_string(),
            count => format!("{count} fences make"),
        };
        let least = self.least(fenced.placement.minimum);
        document.line(format!("{name}: {make} it {reached}{least}"));
        if detail == Detail::Stories {
            for (line, _, thread, text) in places {
                document.line(format!("  line {line}, thread `{thread}`: before `{text}`"));
            }
        }
        ending.of(&mut document, &self.source.name, &self.source.text, &fenced.text);
        document
    }

    /// For programs.
    pub fn object(&self, fenced: &Fenced) -> Value {
        let fence = |(line, column, thread, text): Place<'_>| json!({ "line": line, "column": column, "thread": thread, "before": text });
        let fences: Vec<Value> = self.places(fenced).into_iter().map(fence).collect();
        let placement = &fenced.placement;
        json!({
            "file": self.source.name,
            "models": self.models(),
            "aim": self.aim(),
            "fences": fences,
            "minimum": placement.minimum,
            "irreducible": true,
            "states": placement.cost.states,
            "seconds": placement.cost.elapsed.as_secs_f64(),
            "program": fenced.text,
        })
    }

    /// For programs, where no fences were found.
    pub fn failure(&self, why: &str) -> Value {
        json!({
            "file": self.source.name, "models": self.models(), "aim": self.aim(), "error": why,
        })
    }

    fn models(&self) -> Vec<&'static str> {
        self.aims.iter().map(|aim| aim.machine().name()).collect()
    }

    /// What the fences are for, as a word.
    fn aim(&self) -> &'static str {
        match self.aims {
            [Aim::TriangularRaceFree] => "triangular-race-freedom",
            _ => "robustness",
        }
    }

    /// What the program is with the fences.
    fn reached(&self) -> String {
        match self.aims {
            [Aim::TriangularRaceFree] => {
                "free of triangular races, hence robust against tso".to_string()
            }
            _ => format!("robust against {}", self.models().join(" and ")),
        }
    }

    /// What is known of other sets of fences. Each fence is known to be needed: without it alone, the
    /// program was checked not to be what it should be.
    fn least(&self, minimum: bool) -> String {
        let fewer = match self.weights.in_loop {
            0 => "fewer",
            _ => "cheaper ones",
        };
        // Of a program with statements, those that access memory are looked at.
        let place = if self.source.has_orders() { " in front of accesses" } else { "" };
        let goal = match self.aims {
            [Aim::TriangularRaceFree] => format!("{place} would make it free of them"),
            _ => format!("{place} will do"),
        };
        let mut said = match minimum {
            true => format!(", and no {fewer}{goal}"),
            false => {
                format!("; each is needed, but whether {fewer}{goal} was too much to find out")
            }
        };
        if self.aims == [Aim::TriangularRaceFree] {
            said.push_str("; robustness alone may take fewer");
        }
        said
    }
}
