//! Metadata, kept as the text has it: nodes with fields.
//!
//! Compilers write several nodes for each line of source. They are stored flat and without copying text; `source` looks
//! at those that debug information needs.

use super::lexer::Token;
use super::{Fault, Parsed, Parser};
use std::ops::Range;

/// The value of a field.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(super) enum MetaValue<'a> {
    /// `null`
    Null,
    /// `!12`
    Id(u32),
    /// A node written in place.
    Node(u32),
    /// A string, escapes as they are.
    Str(&'a str),
    /// An integer.
    Int(&'a str),
    /// A word, or several with `|` between them.
    Word(&'a str),
    /// A constant or anything else.
    Other,
}

/// A node: `!{…}` or `!DILocation(…)`.
#[derive(Clone, Debug)]
pub(super) struct Node<'a> {
    /// `DILocation`; empty for `!{…}`.
    pub(super) kind: &'a str,
    fields: Range<u32>,
}

/// All nodes of a module.
#[derive(Default)]
pub(super) struct Nodes<'a> {
    nodes: Vec<Node<'a>>,
    fields: Vec<(&'a str, MetaValue<'a>)>,
    /// By number; `NONE` where no node is defined.
    by_id: Vec<u32>,
    /// Fields of nodes that are not finished yet.
    open: Vec<(&'a str, MetaValue<'a>)>,
}

const NONE: u32 = u32::MAX;

impl<'a> Nodes<'a> {
    /// The node's index that a value refers to.
    pub(super) fn index(&self, value: MetaValue<'a>) -> Option<u32> {
        match value {
            MetaValue::Node(index) => Some(index),
            MetaValue::Id(id) => self.by_id.get(id as usize).copied().filter(|&it| it != NONE),
            _ => None,
        }
    }

    /// The node that a value refers to.
    pub(super) fn get(&self, value: MetaValue<'a>) -> Option<&Node<'a>> {
        self.index(value).map(|index| &self.nodes[index as usize])
    }

    /// All nodes.
    pub(super) fn iter(&self) -> impl Iterator<Item = &Node<'a>> {
        self.nodes.iter()
    }

    /// The fields of a node; those of `!{…}` have no names.
    pub(super) fn fields(&self, node: &Node<'a>) -> &[(&'a str, MetaValue<'a>)] {
        &self.fields[node.fields.start as usize..node.fields.end as usize]
    }

    /// The value of a field.
    pub(super) fn field(&self, node: &Node<'a>, name: &str) -> Option<MetaValue<'a>> {
        let found = self.fields(node).iter().find(|field| field.0 == name)?;
        Some(found.1).filter(|&value| value != MetaValue::Null)
    }
}

impl<'a> Parser<'a> {
    /// `!12 = distinct !{…}` or `!name = !{…}`.
    pub(super) fn metadata_definition(&mut self) -> Parsed<()> {
        let at = self.at;
        let id = match self.advance()? {
            Token::MetaId(id) => Some(id),
            _ => None,
        };
        self.need(b'=')?;
        self.eat_word("distinct")?;
        // Very old files have `!0 = metadata !{…}`.
        self.eat_word("metadata")?;
        let value = self.meta_value()?;
        let (Some(id), MetaValue::Node(node)) = (id, value) else { return Ok(()) };
        // Compilers number nodes without gaps; each takes more than a byte of text. People leave gaps.
        if id as usize > self.text.len().max(1 << 20) {
            return Err(Fault { at, message: format!("the number of `!{id}` is too large") });
        }
        if self.nodes.by_id.len() <= id as usize {
            self.nodes.by_id.resize(id as usize + 1, NONE);
        }
        let slot = &mut self.nodes.by_id[id as usize];
        if *slot != NONE {
            return Err(Fault { at, message: format!("`!{id}` is defined twice") });
        }
        *slot = node;
        Ok(())
    }

    /// A value of metadata: `!12`, `!{…}`, `!DILocation(…)`, `!"…"`, `null`.
    pub(super) fn meta_value(&mut self) -> Parsed<MetaValue<'a>> {
        match self.token {
            Token::MetaId(id) => {
                self.advance()?;
                Ok(MetaValue::Id(id))
            }
            Token::MetaName(kind) => {
                self.advance()?;
                if !self.is(b'(') {
                    return self.expected("`(`");
                }
                self.nested(|parser| parser.meta_node(kind, b')'))
            }
            Token::Punct(b'!') => {
                self.advance()?;
                match self.token {
                    Token::Str(text) => {
                        self.advance()?;
                        Ok(MetaValue::Str(text))
                    }
                    Token::Punct(b'{') => self.nested(|parser| parser.meta_node("", b'}')),
                    _ => self.expected("metadata"),
                }
            }
            Token::Word("null") => {
                self.advance()?;
                Ok(MetaValue::Null)
            }
            _ => self.expected("metadata"),
        }
    }

    fn meta_node(&mut self, kind: &'a str, close: u8) -> Parsed<MetaValue<'a>> {
        self.advance()?;
        let start = self.nodes.open.len();
        while !self.is(close) {
            let name = match self.token {
                Token::Label(name) => {
                    self.advance()?;
                    name.text
                }
                _ => "",
            };
            let value = self.meta_field()?;
            self.nodes.open.push((name, value));
            if !self.eat(b',')? {
                break;
            }
        }
        self.need(close)?;
        let nodes = &mut self.nodes;
        let first = nodes.fields.len() as u32;
        nodes.fields.extend(nodes.open.drain(start..));
        let fields = first..nodes.fields.len() as u32;
        nodes.nodes.push(Node { kind, fields });
        Ok(MetaValue::Node(nodes.nodes.len() as u32 - 1))
    }

    fn meta_field(&mut self) -> Parsed<MetaValue<'a>> {
        let start = self.at;
        let value = match self.token {
            Token::MetaId(_) | Token::MetaName(_) | Token::Punct(b'!') => return self.meta_value(),
            Token::Str(text) => MetaValue::Str(text),
            Token::Int(text) => MetaValue::Int(text),
            Token::Word("null") => MetaValue::Null,
            Token::Word(word) => MetaValue::Word(word),
            _ => MetaValue::Other,
        };
        if value != MetaValue::Other {
            self.advance()?;
        }
        match (value, self.token) {
            (MetaValue::Other, _) => {}
            (_, Token::Punct(b',' | b')' | b'}')) => return Ok(value),
            (MetaValue::Word(_), Token::Punct(b'|')) => {
                let mut end = self.at;
                while self.eat(b'|')? {
                    let Token::Word(word) = self.token else { return self.expected("a flag") };
                    end = self.at + word.len();
                    self.advance()?;
                }
                return Ok(MetaValue::Word(&self.text[start..end]));
            }
            _ => {}
        }
        // A constant with its type.
        while !matches!(self.token, Token::Punct(b',' | b')' | b'}' | b']') | Token::End) {
            match self.token {
                Token::Punct(b'(' | b'[' | b'{') => self.skip_balanced()?,
                _ => {
                    self.advance()?;
                }
            }
        }
        if self.at == start {
            return self.expected("metadata");
        }
        Ok(MetaValue::Other)
    }

    /// `, !dbg !12, !tbaa !5` after an instruction or global: the value of `!dbg`. The comma is the next token.
    pub(super) fn attachments(&mut self) -> Parsed<Option<MetaValue<'a>>> {
        let mut debug = None;
        while self.is(b',') && matches!(self.second(), Token::MetaName(_)) {
            self.advance()?;
            self.attachment(&mut debug)?;
        }
        Ok(debug)
    }

    /// `!dbg !12`
    pub(super) fn attachment(&mut self, debug: &mut Option<MetaValue<'a>>) -> Parsed<()> {
        let Token::MetaName(name) = self.token else { return self.expected("metadata") };
        self.advance()?;
        let value = self.meta_value()?;
        match name {
            "dbg" => *debug = Some(value),
            "tbaa" | "tbaa.struct" => self.annotated = true,
            _ => {}
        }
        Ok(())
    }
}
