//! A history as columns, one per thread, time going down, with an arrow where the marker of a call or
//! return reaches another thread.
//!
//! ```text
//!         producer     consumer
//!      1  call put(1)
//!      2  ●────────────▶          `call put(1)` reaches consumer
//! ```

use crate::document::{Happening, History};
use crate::escape::{columns, pad, visible};

/// Space between two columns.
const GAP: usize = 3;
/// The narrowest column.
const NARROWEST: usize = 10;

/// The steps as lines.
pub(super) fn history(history: &History) -> String {
    let History { threads, steps } = history;
    let width = |column: usize| {
        let cells = steps.iter().filter_map(|(_, step)| match step {
            Happening::At(at, text) if *at == column => Some(columns(&visible(text))),
            _ => None,
        });
        let name = columns(&visible(&threads[column]));
        cells.chain([name, NARROWEST]).max().unwrap_or(NARROWEST)
    };
    let widths: Vec<usize> = (0..threads.len()).map(width).collect();
    let start = |column: usize| widths[..column].iter().map(|width| width + GAP).sum::<usize>();
    let heads: Vec<String> =
        threads.iter().zip(&widths).map(|(name, &width)| pad(&visible(name), width)).collect();
    let mut out = line(None, &heads.join(&" ".repeat(GAP)));
    for (number, step) in steps {
        let text = match step {
            Happening::At(column, text) => {
                format!("{}{}", " ".repeat(start(*column)), visible(text))
            }
            Happening::Reaches { from, to, what } => {
                let (left, right) = (start(*from.min(to)) + 1, start(*from.max(to)) + 1);
                let mut arrow: Vec<char> = vec![' '; start(threads.len())];
                arrow[left..=right].fill('─');
                let (tail, head, tip) =
                    if from < to { (left, right, '▶') } else { (right, left, '◀') };
                arrow[tail] = '●';
                arrow[head] = tip;
                format!("{}{}", arrow.into_iter().collect::<String>(), visible(what))
            }
        };
        out.push_str(&line(*number, &text));
    }
    out
}

fn line(number: Option<usize>, text: &str) -> String {
    let number = number.map_or(String::new(), |number| number.to_string());
    format!("{}\n", format!("  {number:>4}  {text}").trim_end())
}
