//! Walks the tree and notes every name.

use super::OccurrenceKind::{self, Definition, Reference};
use super::blocks::Blocks;
use super::longhand::{Naming, Types, naming};
use super::{Named, Occurrence};
use portcullis_compiler::source::Span;
use portcullis_compiler::syntax::ast::{Block, BlockKind, Call, Condition, Item, Member, Name, Param, Setup};
use portcullis_compiler::syntax::ast::{Short, ShortCondition, Spanned, Term};

/// The walk so far.
pub(super) struct Visit<'b, 'p> {
    blocks: &'b Blocks<'p>,
    pub(super) found: Vec<Occurrence<'p>>,
}

/// A statement with variables of its own.
struct Scope<'p> {
    /// Where it begins; `None` for a fact, which has no variables.
    start: Option<u32>,
    types: Types<'p>,
    /// The variables that a built-in predicate is called with as a name, each with the type of its block.
    naming: Vec<(&'p str, Naming, Option<&'p str>)>,
}

impl<'p> Scope<'p> {
    fn new(start: u32, types: Types<'p>) -> Self {
        Self { start: Some(start), types, naming: Vec::new() }
    }

    fn of_facts() -> Self {
        Self { start: None, types: Types::default(), naming: Vec::new() }
    }
}

impl<'b, 'p> Visit<'b, 'p> {
    pub(super) fn new(blocks: &'b Blocks<'p>) -> Self {
        Self { blocks, found: Vec::new() }
    }

    fn add(&mut self, named: Named<'p>, span: Span, kind: OccurrenceKind) {
        self.found.push(Occurrence { named, span, kind });
    }

    fn ty(&mut self, name: &'p Name) {
        self.add(Named::Type(&name.value), name.span, Reference);
    }

    pub(super) fn item(&mut self, item: &'p Item) {
        match item {
            Item::Block(block) => self.block(block),
            Item::Rule(rule) => {
                self.predicate(&rule.name, &rule.params, rule.body.as_ref(), (rule.span, Definition));
            }
            Item::Declare(declare) => {
                let named = Named::Predicate(&declare.name.value, declare.types.len());
                self.add(named, declare.name.span, Definition);
                declare.types.iter().for_each(|ty| self.ty(ty));
            }
            Item::Fixture(fixture) => {
                self.add(Named::Fixture(&fixture.name.value), fixture.name.span, Definition);
                fixture.facts.iter().for_each(|fact| self.call(&Scope::of_facts(), fact));
            }
            Item::Test(test) => {
                for line in &test.setup {
                    match line {
                        Setup::Fact(fact) => self.call(&Scope::of_facts(), fact),
                        Setup::Fixture(name) => self.add(Named::Fixture(&name.value), name.span, Reference),
                    }
                }
                for assertion in &test.assertions {
                    let (params, iff) = (&assertion.params, assertion.iff.as_ref());
                    self.predicate(&assertion.name, params, iff, (assertion.span, Reference));
                }
            }
        }
    }

    /// A rule, which defines its predicate, or an assertion.
    fn predicate(
        &mut self,
        name: &'p Name,
        params: &'p [Param],
        body: Option<&'p Condition>,
        (span, kind): (Span, OccurrenceKind),
    ) {
        let mut scope = Scope::new(span.start, Types::of(params, body, self.blocks));
        self.add(Named::Predicate(&name.value, params.len()), name.span, kind);
        let terms: Vec<&Spanned<Term>> = params.iter().map(|param| &param.term).collect();
        note_naming(&mut scope, &name.value, &terms);
        body.into_iter().for_each(|body| note_calls(&mut scope, body));
        self.named_by(&scope, &name.value, &terms);
        for Param { term, ty } in params {
            self.term(&scope, term);
            ty.iter().for_each(|ty| self.ty(ty));
        }
        body.into_iter().for_each(|body| self.condition(&scope, body));
    }

    fn block(&mut self, block: &'p Block) {
        match block.kind {
            BlockKind::Actor | BlockKind::Resource => {
                self.add(Named::Type(&block.name.value), block.name.span, Definition);
            }
            BlockKind::Global => {}
        }
        block.extends.iter().for_each(|ty| self.ty(ty));
        let at = self.blocks.named(&block.name.value);
        for member in &block.members {
            match member {
                Member::Roles(list) | Member::Permissions(list) => {
                    list.names.iter().for_each(|name| self.declared(at, &name.value, name.span, Definition));
                }
                Member::Relations(relations) => {
                    for (name, ty) in &relations.relations {
                        self.declared(at, &name.value, name.span, Definition);
                        self.ty(ty);
                    }
                }
                Member::Shorthand(shorthand) => {
                    let scope = Scope::new(shorthand.span.start, Types::of_block(block));
                    self.short(at, &shorthand.head);
                    self.short_condition(at, &scope, &shorthand.body);
                }
            }
        }
    }

    /// A name of a block.
    fn declared(&mut self, block: Option<usize>, name: &str, span: Span, kind: OccurrenceKind) {
        if let Some((group, _)) = block.and_then(|block| self.blocks.find(block, name)) {
            self.add(Named::Declared(group), span, kind);
        }
    }

    fn short(&mut self, block: Option<usize>, short: &'p Spanned<Short>) {
        match &short.value {
            Short::Name(name) => self.declared(block, name, short.span, Reference),
            Short::Role | Short::Permission => {}
        }
    }

    fn short_condition(&mut self, block: Option<usize>, scope: &Scope<'p>, condition: &'p ShortCondition) {
        match condition {
            ShortCondition::Or(sides, _) | ShortCondition::And(sides, _) => {
                sides.iter().for_each(|side| self.short_condition(block, scope, side));
            }
            ShortCondition::Not(inner, _) | ShortCondition::Paren(inner, _) => {
                self.short_condition(block, scope, inner);
            }
            ShortCondition::Short { name, on: None, .. } => self.short(block, name),
            ShortCondition::Short { name, on: Some(on), .. } => {
                let related = block.and_then(|block| self.blocks.related(block, &on.value));
                self.short(related.and_then(|ty| self.blocks.named(ty)), name);
                self.declared(block, &on.value, on.span, Reference);
            }
            ShortCondition::Global { name, .. } => self.short(self.blocks.global(), name),
            ShortCondition::Call(call) => self.call(scope, call),
        }
    }

    fn condition(&mut self, scope: &Scope<'p>, condition: &'p Condition) {
        match condition {
            Condition::Or(sides, _) | Condition::And(sides, _) => {
                sides.iter().for_each(|side| self.condition(scope, side));
            }
            Condition::Not(inner, _) | Condition::Paren(inner, _) => self.condition(scope, inner),
            Condition::Compare { left, right, .. } => {
                [(left, right), (right, left)].into_iter().for_each(|(one, other)| {
                    self.compared(scope, one, other);
                    self.term(scope, one);
                });
            }
            Condition::In { term, list, .. } => {
                self.term(scope, term);
                for element in list {
                    self.compared(scope, element, term);
                    self.term(scope, element);
                }
            }
            Condition::Matches { variable, ty, .. } => {
                self.variable(scope, &variable.value, variable.span);
                self.ty(ty);
            }
            Condition::Call(call) => self.call(scope, call),
            Condition::Boolean(..) => {}
        }
    }

    fn call(&mut self, scope: &Scope<'p>, call: &'p Call) {
        self.add(Named::Predicate(&call.name.value, call.args.len()), call.name.span, Reference);
        let terms: Vec<&Spanned<Term>> = call.args.iter().collect();
        self.named_by(scope, &call.name.value, &terms);
        terms.into_iter().for_each(|term| self.term(scope, term));
    }

    fn term(&mut self, scope: &Scope<'p>, term: &'p Spanned<Term>) {
        match &term.value {
            Term::Object { ty, .. } => self.ty(ty),
            Term::Variable(name) => self.variable(scope, name, term.span),
            Term::String(_) | Term::Integer(_) | Term::Boolean(_) | Term::CurrentUnixTime => {}
        }
    }

    fn variable(&mut self, scope: &Scope<'p>, name: &'p str, span: Span) {
        if let Some(start) = scope.start.filter(|_| name != "_") {
            self.add(Named::Variable(start, name), span, Reference);
        }
    }

    /// The string in a call that is the name of a declaration.
    fn named_by(&mut self, scope: &Scope<'p>, predicate: &str, terms: &[&'p Spanned<Term>]) {
        let Some(naming) = naming(predicate, terms.len()) else { return };
        if let Some(name) = terms.get(naming.name) {
            let of = naming.of.and_then(|at| scope.types.term(terms.get(at)?));
            self.string(name, naming, of);
        }
    }

    /// A string that is compared with a variable that is the name of a declaration.
    fn compared(&mut self, scope: &Scope<'p>, string: &'p Spanned<Term>, with: &'p Spanned<Term>) {
        let Term::Variable(with) = &with.value else { return };
        for (_, naming, of) in scope.naming.iter().filter(|(variable, _, _)| variable == with) {
            self.string(string, *naming, *of);
        }
    }

    /// A string that is the name of a declaration for values of a type; without a type, of any block.
    fn string(&mut self, term: &'p Spanned<Term>, naming: Naming, of: Option<&str>) {
        let Term::String(name) = &term.value else { return };
        let block = match naming.of {
            None => self.blocks.global(),
            Some(_) => of.and_then(|ty| self.blocks.named(ty)),
        };
        let mut groups: Vec<usize> = match block {
            Some(block) => {
                let found = self.blocks.find_below(block, name).into_iter();
                found
                    .filter(|(_, declared)| naming.wanted.is(declared.kind))
                    .map(|(group, _)| group)
                    .collect()
            }
            None if naming.of.is_none() => Vec::new(),
            None => {
                let global = self.blocks.global();
                let same = self.blocks.all().filter(|(_, declared)| {
                    declared.name.value == *name
                        && naming.wanted.is(declared.kind)
                        && Some(declared.block) != global
                });
                same.map(|(group, _)| group).collect()
            }
        };
        groups.sort_unstable();
        groups.dedup();
        for group in groups {
            let named = Named::Declared(group);
            if !self
                .found
                .iter()
                .rev()
                .take_while(|found| found.span == term.span)
                .any(|found| found.named == named)
            {
                self.add(named, term.span, Reference);
            }
        }
    }
}

/// Notes the variable that a call uses as the name of a declaration.
fn note_naming<'p>(scope: &mut Scope<'p>, predicate: &str, terms: &[&'p Spanned<Term>]) {
    let Some(naming) = naming(predicate, terms.len()) else { return };
    if let Some(Term::Variable(name)) = terms.get(naming.name).map(|term| &term.value) {
        let of = naming.of.and_then(|at| scope.types.term(terms.get(at)?));
        scope.naming.push((name, naming, of));
    }
}

/// Notes such variables of all calls of a condition.
fn note_calls<'p>(scope: &mut Scope<'p>, condition: &'p Condition) {
    match condition {
        Condition::Or(sides, _) | Condition::And(sides, _) => {
            sides.iter().for_each(|side| note_calls(scope, side));
        }
        Condition::Not(inner, _) | Condition::Paren(inner, _) => note_calls(scope, inner),
        Condition::Call(call) => {
            note_naming(scope, &call.name.value, &call.args.iter().collect::<Vec<_>>());
        }
        Condition::Compare { .. }
        | Condition::In { .. }
        | Condition::Matches { .. }
        | Condition::Boolean(..) => {}
    }
}
