//! Attributes, most of which are skipped.
//!
//! Each version of LLVM has new ones, so the rule is by form, not by name: a word that starts neither a type nor a
//! value, a string, a number after `align`, and whatever is in brackets after them.

use super::lexer::Token;
use super::types::is_type_word;
use super::{Parsed, Parser};
use crate::types::Ty;

/// The attributes of a parameter or argument that matter.
#[derive(Clone, Copy, Default)]
pub(super) struct ParamAttributes {
    pub(super) byval: Option<Ty>,
    pub(super) sret: Option<Ty>,
}

/// The word starts a value.
pub(super) fn is_value_word(word: &str) -> bool {
    matches!(
        word,
        "null"
            | "undef"
            | "poison"
            | "true"
            | "false"
            | "zeroinitializer"
            | "none"
            | "splat"
            | "blockaddress"
            | "dso_local_equivalent"
            | "no_cfi"
            | "ptrauth"
            | "asm"
            | "getelementptr"
            | "select"
            | "icmp"
            | "fcmp"
            | "fneg"
            | "extractelement"
            | "insertelement"
            | "shufflevector"
            | "extractvalue"
            | "insertvalue"
    ) || super::instructions::cast_op(word).is_some()
        || super::instructions::binary_op(word).is_some()
}

impl<'a> Parser<'a> {
    /// Attributes of a parameter (before its name) or of an argument (before its value).
    pub(super) fn param_attributes(&mut self) -> Parsed<ParamAttributes> {
        let mut found = ParamAttributes::default();
        loop {
            match self.token {
                Token::Word(word) if is_value_word(word) => return Ok(found),
                Token::Word(word @ ("byval" | "sret")) => {
                    self.advance()?;
                    if self.eat(b'(')? {
                        let ty = self.ty()?;
                        self.need(b')')?;
                        match word {
                            "byval" => found.byval = Some(ty),
                            _ => found.sret = Some(ty),
                        }
                    }
                }
                Token::Word(_) => {
                    self.attribute()?;
                }
                Token::Str(_) => self.string_attribute()?,
                _ => return Ok(found),
            }
        }
    }

    /// Attributes and calling conventions before the type of a result.
    pub(super) fn result_attributes(&mut self) -> Parsed<()> {
        loop {
            match self.token {
                Token::Word("cc") => {
                    self.advance()?;
                    self.unsigned("the number of a calling convention")?;
                }
                Token::Word(word) if !is_type_word(word) => {
                    self.attribute()?;
                }
                Token::Str(_) => self.string_attribute()?,
                _ => return Ok(()),
            }
        }
    }

    /// One attribute that is a word, with what belongs to it.
    pub(super) fn attribute(&mut self) -> Parsed<&'a str> {
        let Token::Word(word) = self.token else { return self.expected("an attribute") };
        self.advance()?;
        match self.token {
            Token::Int(_) if matches!(word, "align" | "alignstack") => {
                self.advance()?;
            }
            Token::Punct(b'=') if matches!(word, "align" | "alignstack") => {
                self.advance()?;
                self.unsigned("an alignment")?;
            }
            Token::Punct(b'(') => self.skip_balanced()?,
            _ => {}
        }
        Ok(word)
    }

    pub(super) fn string_attribute(&mut self) -> Parsed<()> {
        self.string("an attribute")?;
        if self.eat(b'=')? {
            self.string("the attribute's value")?;
        }
        Ok(())
    }

    /// `attributes #0 = { … }`
    pub(super) fn attribute_group(&mut self) -> Parsed<()> {
        self.need_word("attributes")?;
        let Token::Group(group) = self.token else { return self.expected("a group's number") };
        self.advance()?;
        self.need(b'=')?;
        self.need(b'{')?;
        let mut noreturn = false;
        loop {
            match self.token {
                Token::Word(_) => noreturn |= self.attribute()? == "noreturn",
                Token::Str(_) => self.string_attribute()?,
                Token::Punct(b'}') => break,
                _ => return self.expected("an attribute or `}`"),
            }
        }
        self.need(b'}')?;
        self.noreturn_groups.insert(group, noreturn);
        Ok(())
    }

    /// `align 8`, in bytes; 0 means the type's own.
    pub(super) fn alignment(&mut self) -> Parsed<Option<u64>> {
        self.need_word("align")?;
        let brackets = self.eat(b'(')?;
        let align = self.unsigned("an alignment")?;
        if align != 0 && (!align.is_power_of_two() || align > 1 << 32) {
            return self.fault(format!("{align} is no alignment"));
        }
        if brackets {
            self.need(b')')?;
        }
        Ok(Some(align).filter(|&align| align != 0))
    }
}
