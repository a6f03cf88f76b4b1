//! The histories of a program, as an automaton that `search::inclusion` explores.
//!
//! A state is one of the machine (`memory::rc11_views`), and for specifications how far it is ahead of the history
//! ([`Ahead`]). The symbols are what a client sees: calls, returns, and arrivals of their markers. Both sides of a
//! comparison share one [`Alphabet`], so that equal symbols have equal numbers.

use super::Event;
use super::Scope;
use super::early_propagation::Ahead;
use ir::Tid;
use memory::rc11_views::{Arrivals, Finding, Machine, Options, Propagation, State, Step};
use memory::rc11_views::{Label, Space, System};
use search::inclusion::{Automaton, Run, SILENT, StateSink, StepSink, Symbol, Word};
use smallvec::SmallVec;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// How a program makes its histories.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Manner {
    /// To the letter.
    Letter,
    /// With every step of threads, to the letter or not; see [`super::total`].
    EveryStep { early: bool },
    /// Markers may propagate before the history shows it, where the thread that they reach needs them for its next step.
    Early,
    /// Markers propagate on demand; see [`super::on_demand`].
    OnDemand,
    /// Follows a program whose markers propagate on demand; with or without owing some.
    Following { owing: bool },
}

impl Manner {
    fn is_early(self) -> bool {
        matches!(self, Manner::Early | Manner::EveryStep { early: true })
    }
}

/// What a symbol stands for.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(super) enum Shown {
    /// A label; a call or return, if that matters, with the counts that its marker carries.
    Label(Label, SmallVec<[u8; 8]>),
    /// Markers propagate.
    Arrivals(Arrivals),
}

/// Numbers for what histories show, shared by both sides.
#[derive(Default)]
pub(super) struct Alphabet {
    numbers: HashMap<Shown, Symbol>,
    shown: Vec<Shown>,
}

impl Alphabet {
    /// The alphabet; only those who panicked could have left it broken, and they did not.
    pub(super) fn of(shared: &Mutex<Alphabet>) -> MutexGuard<'_, Alphabet> {
        shared.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn number(&mut self, shown: Shown) -> Symbol {
        if let Some(&number) = self.numbers.get(&shown) {
            return number;
        }
        self.shown.push(shown.clone());
        let number = self.shown.len() as Symbol;
        self.numbers.insert(shown, number);
        number
    }

    fn shown(&self, symbol: Symbol) -> &Shown {
        &self.shown[symbol as usize - 1]
    }

    /// The label that a symbol stands for, if it is one.
    pub(super) fn label(&self, symbol: Symbol) -> Option<Label> {
        match self.shown(symbol) {
            Shown::Label(label, _) => Some(label.clone()),
            Shown::Arrivals(_) => None,
        }
    }
}

/// The histories of a program.
pub(super) struct Histories {
    pub(super) machine: Machine,
    alphabet: Arc<Mutex<Alphabet>>,
    manner: Manner,
    history_only: bool,
    /// May states that can do less than others be left out?
    pub(super) reduce: bool,
    pub(super) own_space: Option<Space>,
    /// Do threads access memory inside methods only?
    pub(super) only_calls: bool,
    pub(super) threads: usize,
    pub(super) spaces: usize,
}

impl Histories {
    pub(super) fn new(
        system: &System,
        scope: &Scope,
        manner: Manner,
        alphabet: &Arc<Mutex<Alphabet>>,
    ) -> Option<Self> {
        let Scope { pending, history_only, own_space, .. } = *scope;
        let writes = scope.most_writes();
        let every_step = matches!(manner, Manner::EveryStep { .. });
        let reduce = scope.reduce && !every_step;
        let tidy = scope.reduce || every_step;
        let (threads, spaces) = (system.program.threads.len(), system.spaces);
        let propagation = match manner {
            Manner::OnDemand => Propagation::OnDemand,
            Manner::Following { owing: true } => Propagation::Owed,
            _ => Propagation::AnyTime,
        };
        let keep_registers = false;
        let choices = every_step;
        let options =
            Options { pending, keep_registers, reduce, tidy, choices, propagation, writes };
        let machine = Machine::new(system.clone(), options)?;
        let only_calls = system.has_only_calls();
        let alphabet = Arc::clone(alphabet);
        Some(Histories {
            machine,
            alphabet,
            manner,
            history_only,
            reduce,
            own_space,
            only_calls,
            threads,
            spaces,
        })
    }

    pub(super) fn symbol(&self, label: &Option<Label>) -> Symbol {
        match label {
            None => SILENT,
            Some(Label::Propagate { .. }) if self.history_only => SILENT,
            Some(label) => self.number(Shown::Label(label.clone(), SmallVec::new())),
        }
    }

    fn number(&self, shown: Shown) -> Symbol {
        Alphabet::of(&self.alphabet).number(shown)
    }

    /// What a step shows; if markers propagate on demand, arrivals first, then a call or return.
    fn word(&self, step: Step) -> Word {
        if self.manner != Manner::OnDemand {
            return [self.symbol(&step.label), SILENT];
        }
        let carried = self.carried(&step);
        let Step { label, arrived, .. } = step;
        let arrived = match arrived.is_empty() {
            true => SILENT,
            false => self.number(Shown::Arrivals(arrived)),
        };
        [arrived, label.map_or(SILENT, |label| self.number(Shown::Label(label, carried)))]
    }

    /// The threads whose calls return in a step with this word, as bits.
    pub(super) fn returning(&self, word: Word) -> u32 {
        let symbols = word.into_iter().filter(|&symbol| symbol != SILENT);
        symbols.fold(0, |bits, symbol| match Alphabet::of(&self.alphabet).label(symbol) {
            Some(Label::Return { tid, .. }) => bits | 1 << tid.0,
            _ => bits,
        })
    }

    /// The threads that are inside methods, as bits.
    pub(super) fn inside(&self, state: &[u8]) -> u32 {
        let state = self.from(state).state;
        let inside = self.tids().filter(|&tid| self.machine.is_inside(&state, tid));
        inside.fold(0, |bits, tid| bits | 1 << tid.0)
    }

    /// The counts that the marker of a call or return carries.
    fn carried(&self, step: &Step) -> SmallVec<[u8; 8]> {
        match (&step.label, step.at) {
            (Some(_), Some((tid, _))) => self.machine.carried_by_newest(&step.state, tid),
            _ => SmallVec::new(),
        }
    }

    /// What the steps of a run were, the last of which has this finding. Only for automata where nothing propagates early.
    pub(super) fn explain(&self, run: &Run, finding: Option<Finding>) -> Vec<Event> {
        let store = |at: (Tid, ir::Pc)| Event { label: None, at: Some(at), read: None };
        let mut events: Vec<Event> = self.machine.initial_stores().into_iter().map(store).collect();
        let mut at: &[u8] = &run.start;
        for (number, (word, next)) in run.steps.iter().enumerate() {
            let sought = finding.filter(|_| number + 1 == run.steps.len());
            let mut found: Option<Step> = None;
            let mut bytes = Vec::new();
            self.machine.steps(&self.machine.unpack(at), |step| {
                bytes.clear();
                self.machine.pack(&step.state, &mut bytes);
                if found.is_none()
                    && [self.symbol(&step.label), SILENT] == *word
                    && bytes[..] == **next
                    && sought.is_none_or(|sought| step.finding == Some(sought))
                {
                    found = Some(step);
                }
            });
            if let Some(Step { label, at, read, reads, stores, .. }) = found {
                let reader = at.map(|(tid, _)| tid).or(match label {
                    Some(Label::Propagate { to, .. }) => Some(to),
                    _ => None,
                });
                events.extend(reads.iter().map(|&(pc, value, _)| Event {
                    label: None,
                    at: reader.map(|tid| (tid, pc)),
                    read: Some(value),
                }));
                events.push(Event { label, at, read });
                let tid = at.map(|(tid, _)| tid);
                events.extend(
                    tid.iter().flat_map(|&tid| stores.iter().map(move |&pc| store((tid, pc)))),
                );
            }
            at = next;
        }
        events
    }

    /// Hands over the steps of a thread, and arrivals there.
    fn steps_of(&self, from: &From, tid: Tid, sink: StepSink<Finding>) {
        let mut bytes = Vec::new();
        match &from.ahead {
            Some(ahead) => {
                self.machine.moves(&from.state, tid, &mut |step| self.shown(&step, ahead, sink));
                self.machine.arrivals(&from.state, tid, &mut |step| self.shown(&step, ahead, sink));
                self.early(&from.state, ahead, tid, sink);
                self.show_early(from.packed, ahead, tid, sink);
            }
            None => {
                let mut hand_over = |step: Step| {
                    bytes.clear();
                    self.machine.pack(&step.state, &mut bytes);
                    sink([self.symbol(&step.label), SILENT], &bytes, step.finding);
                };
                self.machine.moves(&from.state, tid, &mut hand_over);
                self.machine.arrivals(&from.state, tid, &mut hand_over);
            }
        }
    }

    /// Hands over the steps of a thread itself that show this label, or none, for one that follows.
    fn following(
        &self,
        state: &State,
        tid: Tid,
        wanted: Option<(&Label, &[u8])>,
        sink: StateSink<Finding>,
    ) {
        let mut bytes = Vec::new();
        self.machine.moves(state, tid, &mut |step| {
            let carries_no_more = |limit: &[u8]| {
                self.carried(&step).iter().zip(limit).all(|(own, limit)| own <= limit)
            };
            let is_wanted = match (&step.label, wanted) {
                (None, None) => true,
                (Some(label), Some((wanted, limit))) => label == wanted && carries_no_more(limit),
                _ => false,
            };
            if is_wanted {
                bytes.clear();
                self.machine.pack(&step.state, &mut bytes);
                sink(&bytes, step.finding);
            }
        });
    }

    fn from<'b>(&self, state: &'b [u8]) -> From<'b> {
        let ahead = (self.manner.is_early()).then(|| Ahead::read(state, self.threads, self.spaces));
        let packed = &state[..ahead.as_ref().map_or(state.len(), |ahead| ahead.at)];
        From { state: self.machine.unpack(packed), packed, ahead }
    }

    fn tids(&self) -> impl Iterator<Item = Tid> + use<> {
        (0..self.threads).map(Tid::from)
    }
}

/// Where steps start.
struct From<'b> {
    state: State,
    packed: &'b [u8],
    ahead: Option<Ahead>,
}

impl Automaton for Histories {
    type Bad = Finding;

    fn is_limit(finding: &Finding) -> bool {
        finding.is_limit()
    }

    fn core_length(&self, state: &[u8]) -> usize {
        if self.reduce { Machine::core_length(state) } else { state.len() }
    }

    fn is_less(&self, a: &[u8], b: &[u8]) -> bool {
        if !self.reduce || a == b {
            return a == b;
        }
        let early = self.manner.is_early();
        let ahead = |state: &[u8]| if early { Ahead::length(state) } else { 0 };
        let (a, a_ahead) = a.split_at(a.len() - ahead(a));
        let (b, b_ahead) = b.split_at(b.len() - ahead(b));
        a_ahead == b_ahead && self.machine.is_less(a, b)
    }

    fn initial(&self, sink: StateSink<Finding>) {
        let step = self.machine.initial();
        let mut bytes = Vec::new();
        self.machine.pack(&step.state, &mut bytes);
        if self.manner.is_early() {
            Ahead::nothing(self.threads, self.spaces).write(&mut bytes);
        }
        sink(&bytes, step.finding);
    }

    fn steps(&self, state: &[u8], sink: StepSink<Finding>) {
        let from = self.from(state);
        if self.manner.is_early() {
            return self.tids().for_each(|tid| self.steps_of(&from, tid, sink));
        }
        let mut bytes = Vec::new();
        self.machine.steps(&from.state, |step| {
            bytes.clear();
            self.machine.pack(&step.state, &mut bytes);
            let finding = step.finding;
            sink(self.word(step), &bytes, finding);
        });
    }

    fn silent(&self, state: &[u8], sink: StateSink<Finding>) {
        let from = self.from(state);
        for tid in self.tids() {
            match self.manner {
                Manner::Following { .. } => self.following(&from.state, tid, None, sink),
                _ => self.steps_of(&from, tid, &mut |word, state, finding| {
                    if word == [SILENT; 2] {
                        sink(state, finding);
                    }
                }),
            }
        }
    }

    fn follow(&self, state: &[u8], symbol: Symbol, sink: StateSink<Finding>) {
        let from = self.from(state);
        let shown = Alphabet::of(&self.alphabet).shown(symbol).clone();
        let (label, carried) = match shown {
            Shown::Label(label, carried) => (label, carried),
            Shown::Arrivals(arrivals) => {
                let is_here = |tid: Tid| tid.index() < self.threads;
                if !arrivals.iter().all(|it| is_here(it.from) && is_here(it.to)) {
                    return;
                }
                if let Some(next) = self.machine.after_arrivals(&from.state, &arrivals) {
                    let mut bytes = Vec::new();
                    self.machine.pack(&next, &mut bytes);
                    sink(&bytes, None);
                }
                return;
            }
        };
        let tid = match label {
            Label::Call { tid, .. } | Label::Return { tid, .. } => tid,
            Label::Propagate { to, .. } => to,
        };
        // A client may have more threads than the most general one.
        if tid.index() >= self.threads {
            return;
        }
        match self.manner {
            Manner::Following { .. } => {
                self.following(&from.state, tid, Some((&label, &carried)), sink)
            }
            _ => self.steps_of(&from, tid, &mut |word, state, finding| {
                if word == [symbol, SILENT] {
                    sink(state, finding);
                }
            }),
        }
    }
}
