//! Metadata to debug information.
//!
//! Only what instructions, functions, globals and variables refer to is looked at. Nodes may refer to each other in
//! circles, as types do in any linked list, so each gets its index before its contents are read, and a queue takes the
//! place of recursion.

use super::Parser;
use super::globals::text;
use super::metadata::{MetaValue, Node, Nodes};
use crate::debug::{
    Debug, DebugKind, DebugTy, DebugType, File, FileId, Member, Place, PlaceId, Subprogram,
    SubprogramId,
};
use crate::module::{DebugGlobal, Optimised, Step, Variable};
use std::collections::HashMap;

/// How far scopes are followed outwards.
const SCOPES: usize = 256;

impl<'a> Parser<'a> {
    /// The place that a node will be.
    pub(super) fn place(&mut self, node: MetaValue<'a>) -> PlaceId {
        let next = PlaceId(self.place_nodes.len() as u32);
        *self.places.entry(node).or_insert_with(|| {
            self.place_nodes.push(node);
            next
        })
    }

    /// The debug information of the module, and whether it looks optimised.
    pub(super) fn debug(&mut self) -> (Debug, Option<Optimised>) {
        let mut queue = std::mem::take(&mut self.place_nodes);
        let mut source = Source::new(&self.nodes);
        let mut places = std::mem::take(&mut self.places);
        let mut read = 0;
        while read < queue.len() {
            let (place, inlined_at) = source.place(queue[read]);
            let inlined_at = inlined_at.filter(|&at| self.nodes.get(at).is_some()).map(|at| {
                *places.entry(at).or_insert_with(|| {
                    queue.push(at);
                    PlaceId(queue.len() as u32 - 1)
                })
            });
            source.debug.places.push(Place { inlined_at, ..place });
            read += 1;
        }
        for &(global, node) in &self.global_debug {
            let debug = source.global(node);
            // A variable may have several expressions; the first one names it.
            let slot = &mut self.globals[global as usize].debug;
            *slot = slot.take().or(debug);
        }
        for &(function, node) in &self.function_debug {
            self.functions[function as usize].subprogram = source.subprogram(node);
        }
        for (function, raw) in std::mem::take(&mut self.variables) {
            if let Some(variable) = source.variable(&raw) {
                self.functions[function as usize].variables.push(variable);
            }
        }
        source.types();
        let units = || self.nodes.iter().filter(|node| node.kind == "DICompileUnit");
        let said = |node: &Node<'a>| {
            self.nodes.field(node, "isOptimized") == Some(MetaValue::Word("true"))
        };
        let optimised = match units().any(said) {
            true => Some(Optimised::CompileUnit),
            false => self.annotated.then_some(Optimised::Annotations),
        };
        (source.debug, optimised)
    }
}

/// Debug information in the making: what has an index already.
struct Source<'n, 'a> {
    nodes: &'n Nodes<'a>,
    debug: Debug,
    files: HashMap<u32, FileId>,
    subprograms: HashMap<u32, SubprogramId>,
    scopes: HashMap<MetaValue<'a>, (Option<FileId>, Option<SubprogramId>)>,
    types: HashMap<u32, DebugTy>,
    /// Nodes of types, in the order of their indices.
    type_nodes: Vec<u32>,
}

impl<'n, 'a> Source<'n, 'a> {
    fn new(nodes: &'n Nodes<'a>) -> Source<'n, 'a> {
        Source {
            nodes,
            debug: Debug::default(),
            files: HashMap::new(),
            subprograms: HashMap::new(),
            scopes: HashMap::new(),
            types: HashMap::new(),
            type_nodes: Vec::new(),
        }
    }

    // Fields.

    fn string(&self, node: &Node<'a>, field: &str) -> Box<str> {
        match self.nodes.field(node, field) {
            Some(MetaValue::Str(raw)) => text(raw),
            _ => Box::default(),
        }
    }

    fn number(&self, node: &Node<'a>, field: &str) -> Option<u64> {
        match self.nodes.field(node, field)? {
            MetaValue::Int(digits) => digits.parse().ok(),
            _ => None,
        }
    }

    fn line(&self, node: &Node<'a>) -> u32 {
        self.number(node, "line").map_or(0, |line| line.try_into().unwrap_or(0))
    }

    fn word(&self, node: &Node<'a>, field: &str) -> &'a str {
        match self.nodes.field(node, field) {
            Some(MetaValue::Word(word)) => word,
            _ => "",
        }
    }

    // Files, scopes and functions.

    fn file(&mut self, value: Option<MetaValue<'a>>) -> Option<FileId> {
        let index = self.nodes.index(value?)?;
        if let Some(&known) = self.files.get(&index) {
            return Some(known);
        }
        let node = self.nodes.get(MetaValue::Node(index)).filter(|it| it.kind == "DIFile")?;
        let (name, directory) = (self.string(node, "filename"), self.string(node, "directory"));
        let new = FileId(self.debug.files.len() as u32);
        self.debug.files.push(File { name, directory });
        self.files.insert(index, new);
        Some(new)
    }

    fn subprogram(&mut self, value: MetaValue<'a>) -> Option<SubprogramId> {
        let index = self.nodes.index(value)?;
        if let Some(&known) = self.subprograms.get(&index) {
            return Some(known);
        }
        let node = self.nodes.get(value).filter(|it| it.kind == "DISubprogram")?.clone();
        let file = self.file(self.nodes.field(&node, "file"));
        let new = SubprogramId(self.debug.subprograms.len() as u32);
        self.debug.subprograms.push(Subprogram {
            name: self.string(&node, "name"),
            scope: self.scope_name(self.nodes.field(&node, "scope")),
            linkage_name: self.string(&node, "linkageName"),
            file,
            line: self.line(&node),
        });
        self.subprograms.insert(index, new);
        Some(new)
    }

    /// The namespaces and types around something, outermost first.
    fn scope_name(&self, mut scope: Option<MetaValue<'a>>) -> Box<str> {
        let mut names = Vec::new();
        for _ in 0..SCOPES {
            let Some(node) = scope.and_then(|scope| self.nodes.get(scope)) else { break };
            if matches!(node.kind, "DINamespace" | "DICompositeType" | "DIModule") {
                let name = self.string(node, "name");
                // The namespace without a name is in no one's way.
                names.extend(Some(name).filter(|name| !name.is_empty()));
            }
            scope = self.nodes.field(node, "scope");
        }
        names.reverse();
        names.join("::").into()
    }

    /// The file and function of a scope.
    fn scope(&mut self, scope: MetaValue<'a>) -> (Option<FileId>, Option<SubprogramId>) {
        if let Some(&known) = self.scopes.get(&scope) {
            return known;
        }
        let mut file = None;
        let mut subprogram = None;
        let mut next = Some(scope);
        for _ in 0..SCOPES {
            let Some(value) = next else { break };
            let Some(node) = self.nodes.get(value).cloned() else { break };
            if file.is_none() {
                file = self.file(self.nodes.field(&node, "file"));
            }
            if node.kind == "DISubprogram" {
                subprogram = self.subprogram(value);
                break;
            }
            next = self.nodes.field(&node, "scope");
        }
        self.scopes.insert(scope, (file, subprogram));
        (file, subprogram)
    }

    /// A place, and the node of the place where its function was inlined.
    fn place(&mut self, value: MetaValue<'a>) -> (Place, Option<MetaValue<'a>>) {
        let unknown = Place { file: None, line: 0, column: 0, subprogram: None, inlined_at: None };
        let node = self.nodes.get(value).filter(|node| node.kind == "DILocation").cloned();
        let Some(node) = node else { return (unknown, None) };
        let scope = self.nodes.field(&node, "scope").map(|scope| self.scope(scope));
        let (file, subprogram) = scope.unwrap_or_default();
        let column = self.number(&node, "column").map_or(0, |it| it.try_into().unwrap_or(0));
        let place = Place { file, line: self.line(&node), column, subprogram, inlined_at: None };
        (place, self.nodes.field(&node, "inlinedAt"))
    }

    // Variables.

    fn global(&mut self, value: MetaValue<'a>) -> Option<DebugGlobal> {
        let mut node = self.nodes.get(value)?.clone();
        if node.kind == "DIGlobalVariableExpression" {
            node = self.nodes.get(self.nodes.field(&node, "var")?)?.clone();
        }
        if node.kind != "DIGlobalVariable" {
            return None;
        }
        Some(DebugGlobal {
            name: self.string(&node, "name"),
            file: self.file(self.nodes.field(&node, "file")),
            line: self.line(&node),
            ty: self.ty(self.nodes.field(&node, "type")),
        })
    }

    fn variable(&mut self, raw: &super::RawVariable<'a>) -> Option<Variable> {
        let node = self.nodes.get(raw.variable)?.clone();
        if node.kind != "DILocalVariable" {
            return None;
        }
        let name = Some(self.string(&node, "name")).filter(|name| !name.is_empty())?;
        let parameter = self.number(&node, "arg").and_then(|arg| arg.try_into().ok());
        Some(Variable {
            name,
            storage: raw.storage,
            holds: raw.holds,
            parameter: parameter.filter(|&arg: &u32| arg > 0),
            ty: self.ty(self.nodes.field(&node, "type")),
            file: self.file(self.nodes.field(&node, "file")),
            line: self.line(&node),
            steps: self.steps(raw.expression),
            from: raw.from,
        })
    }

    /// The operations of a `DIExpression`.
    fn steps(&self, expression: MetaValue<'a>) -> Box<[Step]> {
        let Some(node) = self.nodes.get(expression) else { return Box::new([]) };
        let mut steps = Vec::new();
        let mut operands = self.nodes.fields(node).iter().map(|field| field.1);
        while let Some(operation) = operands.next() {
            let mut number = || match operands.next() {
                Some(MetaValue::Int(digits)) => digits.parse().ok(),
                _ => None,
            };
            let step = match operation {
                MetaValue::Word("DW_OP_deref") => Some(Step::Deref),
                MetaValue::Word("DW_OP_plus_uconst") => number().map(Step::Plus),
                MetaValue::Word("DW_OP_LLVM_fragment") => {
                    number().zip(number()).map(|(offset, size)| Step::Fragment(offset, size))
                }
                _ => None,
            };
            let Some(step) = step else {
                // The numbers of an unknown operation must not be taken for operations.
                steps.push(Step::Other);
                break;
            };
            steps.push(step);
        }
        steps.into()
    }

    // Types.

    fn ty(&mut self, value: Option<MetaValue<'a>>) -> Option<DebugTy> {
        let index = self.nodes.index(value?)?;
        let next = DebugTy(self.type_nodes.len() as u32);
        Some(*self.types.entry(index).or_insert_with(|| {
            self.type_nodes.push(index);
            next
        }))
    }

    /// Reads all types that have an index, and those they refer to.
    fn types(&mut self) {
        let mut read = 0;
        while read < self.type_nodes.len() {
            let ty = self.one_type(self.type_nodes[read]);
            self.debug.types.push(ty);
            read += 1;
        }
    }

    fn one_type(&mut self, index: u32) -> DebugType {
        let unknown = DebugType { name: Box::default(), size: 0, kind: DebugKind::Other };
        let Some(node) = self.nodes.get(MetaValue::Node(index)).cloned() else { return unknown };
        let name = self.string(&node, "name");
        let size = self.number(&node, "size").unwrap_or(0) / 8;
        let kind = match (node.kind, self.word(&node, "tag")) {
            ("DIBasicType", _) => {
                let encoding = self.word(&node, "encoding");
                DebugKind::Basic {
                    signed: matches!(encoding, "DW_ATE_signed" | "DW_ATE_signed_char"),
                    float: encoding == "DW_ATE_float",
                    boolean: encoding == "DW_ATE_boolean",
                }
            }
            (
                "DIDerivedType",
                "DW_TAG_pointer_type" | "DW_TAG_reference_type" | "DW_TAG_rvalue_reference_type",
            ) => DebugKind::Pointer(self.ty(self.nodes.field(&node, "baseType"))),
            ("DIDerivedType", "DW_TAG_ptr_to_member_type") => DebugKind::Other,
            ("DIDerivedType", _) => DebugKind::Alias(self.ty(self.nodes.field(&node, "baseType"))),
            ("DICompositeType", "DW_TAG_array_type") => self.array(&node),
            ("DICompositeType", "DW_TAG_enumeration_type") => self.enumeration(&node),
            ("DICompositeType", _) => DebugKind::Aggregate(self.members(&node)),
            _ => DebugKind::Other,
        };
        DebugType { name, size, kind }
    }

    /// The nodes in the list that a field refers to.
    fn list(&self, node: &Node<'a>, field: &str) -> Vec<MetaValue<'a>> {
        let list = self.nodes.field(node, field).and_then(|list| self.nodes.get(list));
        let fields = list.map_or(&[][..], |list| self.nodes.fields(list));
        fields.iter().map(|field| field.1).collect()
    }

    fn array(&mut self, node: &Node<'a>) -> DebugKind {
        let of = self.ty(self.nodes.field(node, "baseType"));
        let counts = self.list(node, "elements").into_iter().map(|range| {
            let range = self.nodes.get(range)?;
            let first = self.number(range, "lowerBound").unwrap_or(0);
            let end = || self.number(range, "upperBound")?.checked_sub(first)?.checked_add(1);
            self.number(range, "count").or_else(end)
        });
        DebugKind::Array { of, counts: counts.collect() }
    }

    fn enumeration(&mut self, node: &Node<'a>) -> DebugKind {
        let values = self.list(node, "elements").into_iter().filter_map(|value| {
            let value = self.nodes.get(value)?;
            match self.nodes.field(value, "value")? {
                MetaValue::Int(digits) => Some((self.string(value, "name"), digits.parse().ok()?)),
                _ => None,
            }
        });
        DebugKind::Enumeration(values.collect())
    }

    fn members(&mut self, node: &Node<'a>) -> Box<[Member]> {
        let mut members = Vec::new();
        // The number that tells a Rust enum's variants apart.
        let discriminator = self.nodes.field(node, "discriminator");
        for value in discriminator.into_iter().chain(self.list(node, "elements")) {
            let Some(node) = self.nodes.get(value).cloned() else { continue };
            let offset_bits = self.number(&node, "offset").unwrap_or(0);
            let size_bits = self.number(&node, "size").unwrap_or(0);
            match (node.kind, self.word(&node, "tag")) {
                ("DIDerivedType", "DW_TAG_member" | "DW_TAG_inheritance") => {
                    // The offset of a virtual base class is in a table of the object.
                    let flags = self.word(&node, "flags");
                    let virtual_base = self.word(&node, "tag") == "DW_TAG_inheritance"
                        && flags.contains("DIFlagVirtual");
                    if flags.contains("DIFlagStaticMember") || virtual_base {
                        continue;
                    }
                    let ty = self.ty(self.nodes.field(&node, "baseType"));
                    members.push(Member {
                        name: self.string(&node, "name"),
                        offset_bits,
                        // A base class has no size of its own in some versions.
                        size_bits: if size_bits > 0 { size_bits } else { self.bits(ty) },
                        ty,
                    });
                }
                ("DICompositeType", "DW_TAG_variant_part") => {
                    let size_bits = u64::MAX;
                    let ty = self.ty(Some(value));
                    members.push(Member { name: Box::default(), offset_bits, size_bits, ty });
                }
                _ => {}
            }
        }
        members.into()
    }

    /// The size of a type that has an index.
    fn bits(&self, ty: Option<DebugTy>) -> u64 {
        let node = ty.map(|ty| self.type_nodes[ty.0 as usize]);
        let node = node.and_then(|index| self.nodes.get(MetaValue::Node(index)));
        node.and_then(|node| self.number(node, "size")).unwrap_or(0)
    }
}
