//! The hosts file: one line for each process, in the order of their numbers, with the address it listens at.
//!
//! ```text
//! # Two machines on a private network.
//! 10.0.0.1:4700
//! 10.0.0.2:4700
//! ```

use std::collections::HashMap;
use std::fmt;

/// More processes than this are taken for a mistake.
pub const MOST_PROCESSES: usize = 1024;

/// The addresses of all processes.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Hosts(Vec<String>);

/// What is wrong with a hosts file.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct BadHosts {
    /// The line, counted from 1; none if it is about the whole file.
    pub line: Option<usize>,
    /// What is wrong.
    pub why: String,
}

impl fmt::Display for BadHosts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.line {
            Some(line) => write!(f, "line {line}: {}", self.why),
            None => f.write_str(&self.why),
        }
    }
}

impl std::error::Error for BadHosts {}

impl Hosts {
    /// Reads a hosts file. Empty lines, and what comes after `#`, do not count.
    pub fn parse(text: &str) -> Result<Hosts, BadHosts> {
        let mut known: HashMap<&str, usize> = HashMap::new();
        let mut hosts = Vec::new();
        for (line, text) in (1..).zip(text.lines()) {
            let address = text.split('#').next().unwrap_or_default().trim();
            if address.is_empty() {
                continue;
            }
            let wrong = |why| BadHosts { line: Some(line), why };
            if address.contains(char::is_whitespace) {
                let why = format!("expected one address like `10.0.0.1:4700`, found `{address}`");
                return Err(wrong(why));
            }
            let Some((host, port)) = address.rsplit_once(':') else {
                return Err(wrong(format!("`{address}` has no port; write `{address}:4700`")));
            };
            let bracketed = host.starts_with('[') && host.ends_with(']');
            if host.is_empty() || host.contains(':') && !bracketed {
                let why = format!(
                    "`{address}` names no host; addresses are written `host:port`, or `[::1]:port` for IPv6"
                );
                return Err(wrong(why));
            }
            match port.parse::<u16>() {
                Ok(1..) => {}
                _ => return Err(wrong(format!("`{port}` is no port: a number from 1 to 65535"))),
            }
            if let Some(first) = known.insert(address, line) {
                return Err(wrong(format!("`{address}` is also on line {first}")));
            }
            hosts.push(address.to_string());
        }
        match hosts.len() {
            0 => Err(BadHosts { line: None, why: "it names no host".into() }),
            1..=MOST_PROCESSES => Ok(Hosts(hosts)),
            many => Err(BadHosts {
                line: None,
                why: format!(
                    "it has {many} lines; at most {MOST_PROCESSES} processes can take part"
                ),
            }),
        }
    }

    /// How many processes take part.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Is there none? Never.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The address of a process.
    pub fn address(&self, process: usize) -> &str {
        &self.0[process]
    }

    /// The addresses in the order of the processes' numbers.
    pub fn addresses(&self) -> impl Iterator<Item = &str> {
        self.0.iter().map(String::as_str)
    }
}

impl fmt::Display for Hosts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|address| writeln!(f, "{address}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_addresses_in_order() {
        let hosts =
            Hosts::parse("# ours\n10.0.0.1:4700\n\n  node-2.local:1 # the other\n[::1]:9\n");
        let hosts = hosts.expect("a good file");
        let addresses: Vec<&str> = hosts.addresses().collect();
        assert_eq!(addresses, ["10.0.0.1:4700", "node-2.local:1", "[::1]:9"]);
        assert_eq!(Hosts::parse(&hosts.to_string()).as_ref(), Ok(&hosts));
    }

    /// Every mistake is named, with its line.
    #[test]
    fn names_mistakes() {
        let told = |text: &str| Hosts::parse(text).expect_err(text).to_string();
        assert_eq!(told("# nobody\n"), "it names no host");
        assert_eq!(told("a:1\nb\n"), "line 2: `b` has no port; write `b:4700`");
        assert!(told("a:1 b:2").contains("expected one address"));
        assert!(told(":1").contains("names no host"));
        assert!(told("::1:5").contains("names no host"));
        assert!(told("a:0").contains("is no port") && told("a:65536").contains("is no port"));
        assert_eq!(told("a:1\n\na:1"), "line 3: `a:1` is also on line 1");
        let many: String = (1..=1025).map(|port| format!("a:{port}\n")).collect();
        assert!(told(&many).contains("at most 1024 processes"));
    }
}
