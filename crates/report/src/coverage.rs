//! Sentences about the scope of an answer about a library: the cases that it covers, the cases that it leaves open, and
//! the reason if there is no answer.

use crate::refinement::{Refinement, place_in};
use check::Why;
use check::refinement::{Side, Stuck};
use lang::diagnostic::Diagnostic;
use memory::rc11_views::{Label, Status};

impl Refinement<'_> {
    /// What the verdict covers.
    pub(crate) fn extent(&self) -> String {
        let what = match self.scope().history_only {
            false => "histories of any length",
            true => "calls and returns of any length, propagation ignored",
        };
        let threads = self.subject().system.program.threads.len();
        format!(
            "{what}, {threads} threads, at most {} pending marker{} from any thread to any other, \
             values {}..{}",
            self.scope().pending,
            if self.scope().pending == 1 { "" } else { "s" },
            self.project.domain.min,
            self.project.domain.max,
        )
    }

    pub(crate) fn also(&self) -> String {
        let spaces = match self.pair.one_space {
            true => "no partial modes, so one space".to_string(),
            false => format!("spaces {}", self.project.spaces.join(", ")),
        };
        match self.scope().history_only {
            false if self.answer.literal() => {
                format!("no race, no failing assertion; {spaces}; to the letter")
            }
            false => format!(
                "no race, no failing assertion; {spaces}; \
                 up to early propagation that no client can see"
            ),
            true => format!(
                "no race, no failing assertion; {spaces}\n  \
                not enough for clients on weak memory: check without --history-only"
            ),
        }
    }

    /// What is said of methods that do not return.
    pub(crate) fn correctness(&self) -> &'static str {
        match (self.of_client(), self.scope().total) {
            (false, false) => {
                "partial correctness: a method that does not return keeps to any specification; \
                 --total checks that methods can"
            }
            (false, true) => {
                "total: no call gets stuck for good where the specification's does not \
                 (no fairness assumed; livelock is not looked for)"
            }
            (true, _) => "partial correctness: whether the client's calls return is not checked",
        }
    }

    /// How the histories of the library are those of the specification.
    pub(crate) fn matched(&self) -> &'static str {
        match (self.scope().history_only, self.answer.literal()) {
            (true, _) => "calls-and-returns",
            (false, true) => "to-the-letter",
            (false, false) => "up-to-early-propagation",
        }
    }

    /// A call that cannot return.
    pub(crate) fn stuck_headline(&self, stuck: &Stuck) -> String {
        let call = stuck.run.iter().rev().find_map(|event| match &event.label {
            Some(Label::Call { tid, method, arguments }) if *tid == stuck.tid => {
                Some(self.call(*method, arguments))
            }
            _ => None,
        });
        format!("{} never returns from {}", self.thread(stuck.tid), call.unwrap_or_default())
    }

    /// Why it cannot return.
    pub(crate) fn stuck_reason(&self, stuck: &Stuck) -> String {
        let at = self.place(stuck.tid, stuck.pc).map_or(String::new(), |at| self.project.line(at));
        let why = match stuck.status {
            Status::Ended => "an assumption fails",
            Status::Spinning => "it loops for ever without accessing memory",
            Status::Running => "it can go on for ever or wait, but never returns",
            _ => "it stops",
        };
        format!("{why}, at {at}")
    }

    /// A warning about statements whose results wrapped around.
    pub fn wrapped(&self) -> Option<Diagnostic> {
        let sides = [self.subject(), &self.pair.specification];
        let compared = self.answer.compared.as_ref();
        let of_second = compared.map_or(&[][..], |compared| &compared.wrapped);
        let places = sides.into_iter().zip([&self.answer.wrapped[..], of_second]);
        let spans = places.flat_map(|(linked, steps)| {
            steps.iter().filter_map(|&(tid, pc)| place_in(linked, tid, pc))
        });
        let domain = self.project.domain;
        let help = format!("values are {domain}; `max_value` allows larger ones");
        crate::ruling::wrapped_at(spans.collect(), help)
    }

    /// Why there is no answer, in a sentence.
    pub(crate) fn why(&self, why: Why) -> String {
        let (first, second) = match self.of_client() {
            false => ("library", "specification"),
            true => ("client", "policy"),
        };
        let name = |side: Side| match side {
            Side::First => first,
            Side::Second => second,
        };
        match why {
            Why::TooLarge(side) => format!(
                "the {} with its client has more threads or variables than can be handled",
                name(side)
            ),
            Why::NotCovered(Side::First, finding) => {
                let (what, at) = self.wrong(&finding);
                format!("not all of the {first} was looked at: {what}, at {at}")
            }
            Why::NotCovered(Side::Second, finding) => {
                let (what, at) = self.wrong_in(&self.pair.specification, &finding);
                format!(
                    "the {second} could not follow as far as it was looked at, but there is more to it: \
                     {what}, at {at}"
                )
            }
            why => why.to_string(),
        }
    }
}
