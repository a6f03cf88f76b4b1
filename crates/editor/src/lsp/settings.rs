//! What the editor's user can set.

use crate::job::Limits;
use serde_json::Value;
use std::time::Duration;

/// Memory models that can be named.
const MODELS: [&str; 7] = ["rc11", "rc20", "ra", "sc", "tso", "pso", "pgas"];

/// What can be set, and is.
#[derive(Clone, PartialEq, Debug)]
pub(super) struct Settings {
    /// The memory model; none for the language's own.
    pub model: Option<String>,
    /// What each question may use up.
    pub limits: Limits,
    /// Are memory orders looked at, too?
    pub orders: bool,
    /// More flags for the compilers of C, C++ and Rust.
    pub flags: Vec<String>,
    /// Where compile_commands.json is.
    pub compile_commands: Option<String>,
    /// How long typing must pause before a check begins.
    pub delay: Duration,
}

impl Settings {
    /// Nothing is set.
    pub(super) fn new(limits: Limits) -> Self {
        Settings {
            model: None,
            limits,
            orders: true,
            flags: Vec::new(),
            compile_commands: None,
            delay: Duration::from_millis(250),
        }
    }

    /// Takes what is given; says what is wrong with the rest.
    pub(super) fn take(&mut self, given: &Value) -> Vec<String> {
        let mut complaints = Vec::new();
        let Some(given) = given.as_object() else {
            return if given.is_null() {
                complaints
            } else {
                vec!["settings are an object".into()]
            };
        };
        for (name, value) in given {
            if let Err(wanted) = self.set(name, value) {
                complaints.push(match wanted {
                    "" => format!("there is no setting `{name}`"),
                    wanted => format!("the setting `{name}` must be {wanted}, not {value}"),
                });
            }
        }
        complaints
    }

    fn set(&mut self, name: &str, value: &Value) -> Result<(), &'static str> {
        let text = || value.as_str().filter(|text| !text.is_empty()).map(str::to_string);
        let positive = || value.as_f64().filter(|number| *number > 0.0);
        match name {
            "model" => {
                self.model = match text() {
                    Some(model) if !MODELS.contains(&model.as_str()) => {
                        return Err("one of rc11, rc20, ra, sc, tso, pso, pgas");
                    }
                    None if !(value.is_null() || value == "") => return Err("a name"),
                    model => model,
                };
            }
            "limitTime" => {
                let seconds = positive().filter(|seconds| *seconds <= 3600.0);
                self.limits.time =
                    Duration::from_secs_f64(seconds.ok_or("a number of seconds, at most 3600")?);
            }
            "limitMemory" => {
                let megabytes = positive().filter(|megabytes| *megabytes <= 1e6);
                let megabytes = megabytes.ok_or("a number of megabytes")?;
                self.limits.memory = (megabytes * f64::from(1 << 20)) as u64;
            }
            "orders" => self.orders = value.as_bool().ok_or("true or false")?,
            "flags" => {
                let words = value.as_array().ok_or("a list of texts")?.iter();
                let words: Option<Vec<String>> =
                    words.map(|word| word.as_str().map(str::to_string)).collect();
                self.flags = words.ok_or("a list of texts")?;
            }
            "compileCommands" => {
                self.compile_commands = match value.is_null() || value.is_string() {
                    true => text(),
                    false => return Err("the path of a folder"),
                };
            }
            "delay" => {
                let most = value.as_f64().filter(|ms| (0.0..=60_000.0).contains(ms));
                self.delay = Duration::from_secs_f64(
                    most.ok_or("a number of milliseconds, at most 60000")? / 1e3,
                );
            }
            // Of the extension, not of the server.
            "path" | "trace" => {}
            _ => return Err(""),
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn settings_are_taken_or_complained_about() {
        let limits = Limits { time: Duration::from_secs(10), memory: 1 << 30 };
        let mut settings = Settings::new(limits);
        let given = json!({
            "model": "tso", "limitTime": 2.5, "limitMemory": 64, "orders": false, "flags": ["-DX"],
            "compileCommands": "build", "delay": 10, "path": "x",
        });
        assert_eq!(settings.take(&given), Vec::<String>::new());
        assert_eq!(settings.model.as_deref(), Some("tso"));
        let wanted = Limits { time: Duration::from_millis(2500), memory: 64 << 20 };
        assert_eq!(settings.limits, wanted);
        assert_eq!((settings.orders, &settings.flags[..]), (false, &["-DX".to_string()][..]));
        let before = settings.clone();
        let bad = json!({
            "model": "arm", "limitTime": -1, "limitMemory": "x", "orders": 3, "flags": [1],
            "compileCommands": 1, "delay": 1e9, "nonsense": 1,
        });
        assert_eq!(settings.take(&bad).len(), 8);
        assert_eq!(settings, before, "what is wrong changes nothing");
        assert_eq!(settings.take(&json!(null)), Vec::<String>::new());
        assert_eq!(settings.take(&json!([1])).len(), 1);
        settings.take(&json!({ "model": "" }));
        assert_eq!(settings.model, None);
    }
}
