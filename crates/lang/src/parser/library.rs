//! Libraries, specifications and clients: the top level of a file for `refine`, and
//! the statements that only such files have.

use super::{Parse, Parser};
use crate::lexer::Kind;
use crate::suggest;
use crate::syntax::{
    Client, Component, ComponentKind, Constant, Method, Name, Policy, Project, StatementKind, Unit,
    Variables,
};
use ir::LocationKind;

const ITEMS: [&str; 6] = ["library", "spec", "client", "const", "max_value", "values"];

impl<'a> Parser<'a, '_> {
    pub(super) fn project_item(&mut self, project: &mut Project<'a>) -> Parse<()> {
        match self.word() {
            "max_value" | "values" => {
                let values = self.values()?;
                project.shared.values.push(values);
            }
            "const" => {
                self.advance();
                let name = self.new_name("the constant's name")?;
                self.expect(Kind::Assign)?;
                let value = self.expression()?;
                project.shared.constants.push(Constant { name, value });
                self.expect(Kind::Semicolon)?;
            }
            "library" => {
                let library = self.component(ComponentKind::Library)?;
                project.components.push(library);
            }
            "spec" => {
                let spec = self.component(ComponentKind::Spec)?;
                project.components.push(spec);
            }
            "client" => {
                let client = self.client()?;
                project.clients.push(client);
            }
            word => {
                let help = match word {
                    "thread" | "fn" => "threads stand inside a client: `client { thread t { … } }`",
                    "global" | "atomic" | "na" | "space" => {
                        "variables belong to a library, a specification or a client"
                    }
                    "method" => "methods stand inside a library or a specification",
                    _ => match suggest::nearest(word, ITEMS) {
                        Some(near) => {
                            let help = Some(format!("did you mean `{near}`?"));
                            return self
                                .no_start(&["a library", "a specification", "a client"], help);
                        }
                        None => "a file for `refine` has libraries, specifications and a client",
                    },
                };
                let expected = ["a library", "a specification", "a client"];
                return self.no_start(&expected, Some(help.to_string()));
            }
        }
        Ok(())
    }

    fn component(&mut self, kind: ComponentKind) -> Parse<Component<'a>> {
        self.advance();
        let name = self.new_name("its name")?;
        let mut implements = None;
        if kind == ComponentKind::Library && self.eat_keyword("implements") {
            implements = Some(self.name("a specification's name")?);
        }
        let mut component =
            Component { kind, name, implements, variables: Vec::new(), methods: Vec::new() };
        let open = self.expect(Kind::OpenBrace)?;
        self.specifies = kind == ComponentKind::Spec;
        while self.kind() != Kind::CloseBrace {
            if self.at_keyword("method") {
                let method = self.method_item("the method's name")?;
                component.methods.push(method);
            } else if !self.variables(&mut component.variables)? {
                if self.kind() == Kind::End {
                    return self.unclosed(open);
                }
                return self.no_start(&["a declaration", "a method", "`}`"], None);
            }
        }
        self.specifies = false;
        self.advance();
        Ok(component)
    }

    fn client(&mut self) -> Parse<Client<'a>> {
        let span = self.advance().span();
        let open = self.expect(Kind::OpenBrace)?;
        let mut client =
            Client { span, variables: Vec::new(), unit: Unit::default(), policies: Vec::new() };
        while self.kind() != Kind::CloseBrace {
            match self.word() {
                "thread" | "fn" => {
                    let thread = self.thread()?;
                    client.unit.threads.push(thread);
                }
                "policy" => {
                    let policy = self.policy()?;
                    client.policies.push(policy);
                }
                _ if self.variables(&mut client.variables)? => {}
                _ if self.kind() == Kind::End => return self.unclosed(open),
                _ => return self.no_start(&["a declaration", "a thread", "a policy", "`}`"], None),
            }
        }
        self.advance();
        Ok(client)
    }

    /// Declarations of variables, perhaps in a space; is that what stands here?
    fn variables(&mut self, all: &mut Vec<Variables<'a>>) -> Parse<bool> {
        let mut unit = Unit::default();
        let space = match self.word() {
            "global" | "atomic" => {
                self.declarations(LocationKind::Atomic, &mut unit)?;
                None
            }
            "na" => {
                self.declarations(LocationKind::NonAtomic, &mut unit)?;
                None
            }
            "space" => {
                self.advance();
                let name = self.new_name("the space's name")?;
                self.expect(Kind::OpenBrace)?;
                while self.kind() != Kind::CloseBrace {
                    match self.word() {
                        "global" | "atomic" => {
                            self.declarations(LocationKind::Atomic, &mut unit)?
                        }
                        "na" => self.declarations(LocationKind::NonAtomic, &mut unit)?,
                        _ => return self.no_start(&["a declaration", "`}`"], None),
                    }
                }
                self.advance();
                Some(name)
            }
            _ => return Ok(false),
        };
        all.push(Variables { space, locations: unit.locations });
        Ok(true)
    }

    pub(super) fn method_item(&mut self, what: &str) -> Parse<Method<'a>> {
        self.advance();
        let name = self.new_name(what)?;
        self.expect(Kind::OpenParen)?;
        let mut parameters = Vec::new();
        if self.kind() != Kind::CloseParen {
            parameters.push(self.new_name("a parameter")?);
            while self.eat(Kind::Comma) {
                parameters.push(self.new_name("a parameter")?);
            }
        }
        self.expect(Kind::CloseParen)?;
        let open = self.expect(Kind::OpenBrace)?;
        let (locals, body) = self.locals_and_block(open)?;
        Ok(Method { name, parameters, locals, body })
    }

    fn policy(&mut self) -> Parse<Policy<'a>> {
        self.advance();
        let name = self.name("the policy's name")?;
        let mut count = None;
        if self.eat(Kind::OpenParen) {
            count = Some(self.expression()?);
            self.expect(Kind::CloseParen)?;
        }
        let mut writers = Vec::new();
        if self.eat_keyword("write") {
            writers.push(self.name("a method")?);
            while self.eat(Kind::Comma) {
                writers.push(self.name("a method")?);
            }
        }
        self.expect(Kind::Semicolon)?;
        Ok(Policy { name, count, writers })
    }

    /// A statement that starts with a name that no other statement starts with.
    pub(super) fn library_statement(&mut self) -> Parse<StatementKind<'a>> {
        match self.word() {
            "return" => {
                self.advance();
                let mut value = None;
                if self.in_procedure {
                    let empty =
                        self.kind() == Kind::OpenParen && self.kind_at(1) == Kind::CloseParen;
                    if empty {
                        self.advance();
                        self.advance();
                    } else if self.kind() != Kind::Semicolon {
                        value = Some(self.expression()?);
                    }
                } else if self.eat(Kind::OpenParen) {
                    if self.kind() != Kind::CloseParen {
                        value = Some(self.expression()?);
                    }
                    self.expect(Kind::CloseParen)?;
                } else if self.kind() != Kind::Semicolon {
                    let help = "a result stands in parentheses: `return(e);`".to_string();
                    return self.unexpected_with(&["`(`", "`;`"], Some(help));
                }
                Ok(StatementKind::Return(value))
            }
            "acquire" => {
                self.advance();
                Ok(StatementKind::Lock(self.only_place()?))
            }
            "release" => {
                self.advance();
                Ok(StatementKind::Unlock(self.only_place()?))
            }
            "pacquire" => {
                self.advance();
                Ok(StatementKind::PartialLock(self.only_place()?))
            }
            "prelease" => {
                self.advance();
                Ok(StatementKind::PartialUnlock(self.only_place()?))
            }
            _ => self.call(None),
        }
    }

    /// `f(a, b)`
    pub(super) fn call(&mut self, dst: Option<Name<'a>>) -> Parse<StatementKind<'a>> {
        let name = self.name("a method or procedure")?;
        self.expect(Kind::OpenParen)?;
        let mut arguments = Vec::new();
        if self.kind() != Kind::CloseParen {
            arguments.push(self.expression()?);
            while self.eat(Kind::Comma) {
                arguments.push(self.expression()?);
            }
        }
        if self.kind() != Kind::CloseParen {
            return self.unexpected(&["`,`", "`)`"]);
        }
        self.advance();
        Ok(StatementKind::Call(dst, name, arguments))
    }
}
