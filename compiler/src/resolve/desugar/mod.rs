//! Expands the shorthand of blocks into longhand rules.
//!
//! In: the blocks with their names. Out: rules in the tables. In `resource R` the variables `actor: Actor`
//! and `resource: R` are implied:
//!
//! ```text
//! "read" if "owner";                has_permission(actor, "read", resource) if has_relation(resource, "owner", actor)
//! "read" if "admin" on "parent";    … if has_relation(resource, "parent", p) and has_role(actor, "admin", p)
//! "read" if global "admin";         … if has_role(actor, "admin")
//! role if role on "parent";         a rule for each role x: has_role(actor, x, resource)
//!                                      if has_relation(resource, "parent", p) and has_role(actor, x, p)
//! ```
//!
//! The arguments of a relation are resource, name, related value; those of roles and permissions are actor,
//! name, resource. A `role` or `permission` in a body means the head's name if the head is the same keyword,
//! and for any name otherwise. A subtype may declare more roles than the block whose `role if …` it inherits;
//! these get rules of their own, for the subtype only.

mod keyword;
mod names;

use super::blocks::{Block, Blocks, NameKind};
use super::flatten::flatten;
use super::formula::{AtomicTest, Formula, NestedRule, TestKind};
use super::lower;
use super::tables::Tables;
use crate::builtin::{HAS_PERMISSION, HAS_RELATION, HAS_ROLE};
use crate::diagnostic::{Code, Diagnostic};
use crate::ir::{Polarity, PredId, Term, TypeId, VarId};
use crate::limits;
use crate::source::Span;
use crate::syntax::ast::{BlockKind, Member, Name, Short, ShortCondition, Shorthand, Spanned};
use keyword::{Keywords, Meant, Options};
use std::rc::Rc;

/// Adds the rules of every block's shorthand.
pub(super) fn desugar(tables: &mut Tables, blocks: &Blocks<'_>) {
    let predicates = BuiltIn {
        role: tables.predicate(HAS_ROLE, 3),
        permission: tables.predicate(HAS_PERMISSION, 3),
        relation: tables.predicate(HAS_RELATION, 3),
        global_role: tables.predicate(HAS_ROLE, 2),
        global_permission: tables.predicate(HAS_PERMISSION, 2),
    };
    let mut keywords = Keywords::default();
    for block in blocks.list.iter().chain(&blocks.global) {
        for member in &block.ast.members {
            match member {
                Member::Shorthand(_) if tables.is_full() => return,
                Member::Shorthand(rule) => {
                    Desugar { tables, blocks, block, predicates, keywords: &mut keywords }.rule(rule);
                }
                Member::Roles(_) | Member::Permissions(_) | Member::Relations(_) => {}
            }
        }
    }
}

/// The predicates that shorthand uses.
#[derive(Clone, Copy)]
struct BuiltIn {
    role: PredId,
    permission: PredId,
    relation: PredId,
    global_role: PredId,
    global_permission: PredId,
}

/// The rule being expanded.
struct ExpandedRule<'n> {
    nested: NestedRule,
    actor: VarId,
    /// The implied resource; `None` in the global block.
    resource: Option<VarId>,
    /// The name that the head grants, and whether it was written as a keyword.
    head: Meant<'n>,
    by_keyword: bool,
}

/// The rule is rejected; the mistake has been reported.
struct Refused;

struct Desugar<'t, 'b, 'a> {
    tables: &'t mut Tables,
    blocks: &'b Blocks<'a>,
    block: &'b Block<'a>,
    predicates: BuiltIn,
    keywords: &'t mut Keywords<'b>,
}

impl<'b> Desugar<'_, 'b, '_> {
    fn rule(&mut self, shorthand: &'b Shorthand) {
        let ty = self.block.ty;
        let (heads, by_keyword): (Options<'b>, bool) = match &shorthand.head.value {
            Short::Name(name) => {
                let found = self.own(name, shorthand.head.span).ok();
                (found.map(|found| Meant { name, kind: found.kind, ty }).into_iter().collect(), false)
            }
            Short::Role => (self.all_of(self.block, NameKind::Role), true),
            Short::Permission => (self.all_of(self.block, NameKind::Permission), true),
        };
        if heads.is_empty() {
            // Still report mistakes in the body.
            let head = Meant { name: "", kind: NameKind::Role, ty };
            let mut rule = self.begin(head, by_keyword, shorthand.span);
            let _reported = self.formula(&mut rule, &shorthand.body);
        }
        for &head in heads.iter() {
            let mut rule = self.begin(head, by_keyword, shorthand.span);
            let Ok(body) = self.formula(&mut rule, &shorthand.body) else { return };
            rule.nested.body = body;
            flatten(self.tables, rule.nested);
            if self.tables.is_full() {
                return;
            }
        }
    }

    /// Begins a rule with its head and implied variables.
    fn begin<'n>(&mut self, head: Meant<'n>, by_keyword: bool, span: Span) -> ExpandedRule<'n> {
        let is_global = self.is_global();
        let mut nested = NestedRule::new(self.predicate(head.kind, is_global), span);
        let actor = nested.new_var("actor", self.tables.var_type(TypeId::ACTOR));
        nested.bind("actor", actor);
        let resource = (!is_global).then(|| nested.new_var("resource", self.tables.var_type(head.ty)));
        if let Some(resource) = resource {
            nested.bind("resource", resource);
        }
        nested.params = self.args(head.kind, actor, head.name, resource);
        ExpandedRule { nested, actor, resource, head, by_keyword }
    }

    /// The names that `role` or `permission` means in a block.
    fn all_of(&mut self, block: &'b Block<'_>, kind: NameKind) -> Options<'b> {
        self.keywords.of(self.blocks, block, kind)
    }

    fn is_global(&self) -> bool {
        match self.block.ast.kind {
            BlockKind::Global => true,
            BlockKind::Actor | BlockKind::Resource => false,
        }
    }

    fn predicate(&self, kind: NameKind, is_global: bool) -> PredId {
        match (kind, is_global) {
            (NameKind::Role, false) => self.predicates.role,
            (NameKind::Permission, false) => self.predicates.permission,
            (NameKind::Role, true) => self.predicates.global_role,
            (NameKind::Permission, true) => self.predicates.global_permission,
            (NameKind::Relation(_), _) => self.predicates.relation,
        }
    }

    /// The arguments of "`actor` holds `name` on `resource`".
    fn args(&mut self, kind: NameKind, actor: VarId, name: &str, resource: Option<VarId>) -> Vec<Term> {
        let name = Term::Const(self.tables.string(name));
        match (kind, resource) {
            (NameKind::Role | NameKind::Permission, None) => vec![Term::Var(actor), name],
            (NameKind::Role | NameKind::Permission, Some(resource)) => {
                vec![Term::Var(actor), name, Term::Var(resource)]
            }
            // INVARIANT: the global block has no relations.
            (NameKind::Relation(_), None) => vec![name, Term::Var(actor)],
            (NameKind::Relation(_), Some(resource)) => vec![Term::Var(resource), name, Term::Var(actor)],
        }
    }

    fn formula(&mut self, rule: &mut ExpandedRule<'_>, body: &'b ShortCondition) -> Result<Formula, Refused> {
        match body {
            ShortCondition::Or(parts, _) => self.all(rule, parts).map(Formula::Or),
            ShortCondition::And(parts, _) => self.all(rule, parts).map(Formula::And),
            ShortCondition::Not(inner, _) => Ok(Formula::Not(Box::new(self.formula(rule, inner)?))),
            ShortCondition::Paren(inner, _) => self.formula(rule, inner),
            ShortCondition::Short { name, on: None, span } => self.held(rule, name, *span),
            ShortCondition::Short { name, on: Some(relation), span } => {
                self.held_on(rule, name, relation, *span)
            }
            ShortCondition::Global { name, span } => self.held_globally(rule, name, *span),
            ShortCondition::Call(call) => Ok(lower::call(self.tables, &mut rule.nested, call)),
        }
    }

    /// Expands every part, so that each mistake is reported.
    fn all(
        &mut self,
        rule: &mut ExpandedRule<'_>,
        parts: &'b [ShortCondition],
    ) -> Result<Vec<Formula>, Refused> {
        let parts: Vec<_> = parts.iter().map(|part| self.formula(rule, part)).collect();
        parts.into_iter().collect()
    }

    /// `"name"`, `role` or `permission` on the resource itself.
    fn held(
        &mut self,
        rule: &mut ExpandedRule<'_>,
        short: &'b Spanned<Short>,
        span: Span,
    ) -> Result<Formula, Refused> {
        let block = self.block;
        let options: Options<'_> = match &short.value {
            Short::Name(name) => {
                let found = self.own(name, short.span)?;
                Rc::new([Meant { name, kind: found.kind, ty: block.ty }])
            }
            Short::Role => rule.same(NameKind::Role).unwrap_or_else(|| self.all_of(block, NameKind::Role)),
            Short::Permission => {
                rule.same(NameKind::Permission).unwrap_or_else(|| self.all_of(block, NameKind::Permission))
            }
        };
        let on = rule.resource.map(|resource| (resource, block.ty));
        self.any_of(rule, &options, on, span)
    }

    /// `… on "relation"`: held on a related value.
    fn held_on(
        &mut self,
        rule: &mut ExpandedRule<'_>,
        short: &'b Spanned<Short>,
        relation: &'b Name,
        span: Span,
    ) -> Result<Formula, Refused> {
        let ty = self.relation(relation)?;
        let Some(resource) = rule.resource else { return Err(Refused) };
        let options: Options<'_> = match &short.value {
            Short::Name(name) => {
                let found = self.on_related(name, short.span, relation, ty)?;
                Rc::new([Meant { name, kind: found.kind, ty }])
            }
            Short::Role => self.keyword_on(rule, NameKind::Role, relation, ty)?,
            Short::Permission => self.keyword_on(rule, NameKind::Permission, relation, ty)?,
        };
        let related = rule.nested.new_var(&relation.value, self.tables.var_type(ty));
        let name = Term::Const(self.tables.string(&relation.value));
        let args = vec![Term::Var(resource), name, Term::Var(related)];
        let step = Formula::atom(self.predicates.relation, args, span);
        let held = self.any_of(rule, &options, Some((related, ty)), span)?;
        Ok(Formula::And(vec![step, held]))
    }

    fn keyword_on<'n>(
        &mut self,
        rule: &ExpandedRule<'n>,
        kind: NameKind,
        relation: &Name,
        ty: TypeId,
    ) -> Result<Options<'n>, Refused>
    where
        'b: 'n,
    {
        if let Some(same) = rule.same(kind) {
            return Ok(same.iter().map(|&same| Meant { ty, ..same }).collect());
        }
        match self.blocks.of(ty) {
            Some(block) => Ok(self.all_of(block, kind)),
            None => Err(self.no_block(relation, ty)),
        }
    }

    /// `global "name"`: held without a resource.
    fn held_globally(
        &mut self,
        rule: &mut ExpandedRule<'_>,
        short: &'b Spanned<Short>,
        span: Span,
    ) -> Result<Formula, Refused> {
        let global = self.blocks.global.as_ref();
        let mut all =
            |kind| global.map_or_else(|| Rc::new([]) as Options<'_>, |block| self.all_of(block, kind));
        let options: Options<'_> = match &short.value {
            Short::Name(name) => match global.and_then(|block| block.names.get(name.as_str())) {
                Some(found) => Rc::new([Meant { name, kind: found.kind, ty: TypeId::FOREIGN }]),
                None => return Err(self.undeclared_global(name, short.span)),
            },
            Short::Role => rule.same(NameKind::Role).unwrap_or_else(|| all(NameKind::Role)),
            Short::Permission => rule.same(NameKind::Permission).unwrap_or_else(|| all(NameKind::Permission)),
        };
        self.any_of(rule, &options, None, span)
    }

    /// The actor has one of `options` on the variable, which has the given type.
    fn any_of(
        &mut self,
        rule: &mut ExpandedRule<'_>,
        options: &[Meant<'_>],
        on: Option<(VarId, TypeId)>,
        span: Span,
    ) -> Result<Formula, Refused> {
        if options.len() > limits::CONDITIONS {
            let title = "a `role` or `permission` means too many names";
            let found = Diagnostic::new(Code::ConditionTooLarge, title, span, "this one");
            self.tables.report(found.with_note(format!("the limit is {}", limits::CONDITIONS)));
            return Err(Refused);
        }
        let mut alternatives = Vec::with_capacity(options.len());
        for option in options {
            let pred = self.predicate(option.kind, on.is_none());
            let args = self.args(option.kind, rule.actor, option.name, on.map(|(var, _)| var));
            let held = Formula::atom(pred, args, span);
            alternatives.push(match on {
                // A name that only a subtype declares applies to values of the subtype only.
                Some((var, ty)) if option.ty != ty => {
                    let types = self.tables.admits(option.ty).to_vec();
                    let kind = TestKind::OfType { polarity: Polarity::Positive, var, types };
                    Formula::And(vec![held, Formula::Test(AtomicTest { kind, span })])
                }
                _ => held,
            });
        }
        Ok(Formula::Or(alternatives))
    }
}

impl<'n> ExpandedRule<'n> {
    /// The name that the head's keyword means, if it is the keyword for this kind.
    fn same(&self, kind: NameKind) -> Option<Options<'n>> {
        (self.by_keyword && self.head.kind == kind).then(|| Rc::new([self.head]) as Options<'n>)
    }
}
