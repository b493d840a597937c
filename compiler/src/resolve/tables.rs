//! The tables of a program under construction; each name is interned once.
//!
//! In: names and literals as written. Out: ids, and finally the vectors of a [`Program`](crate::ir::Program).
//! All passes of the resolver write here.

use crate::builtin;
use crate::diagnostic::{Code, Diagnostic, suggest};
use crate::id_vec::IdVec;
use crate::ir::{
    ConstId, Constant, ConstantKey, PredId, Predicate, PredicateKey, Rule, RuleId, TypeDef, TypeId, TypeKind,
    VarType,
};
use crate::limits;
use crate::primitive::Primitive;
use crate::source::Span;
use crate::spelling::quoted;
use crate::syntax::ast::Name;
use indexmap::IndexSet;
use rustc_hash::FxHashMap;

/// The program so far, and the findings.
#[derive(Debug)]
pub(super) struct Tables {
    pub(super) types: IdVec<TypeId, TypeDef>,
    pub(super) predicates: IndexSet<Predicate>,
    pub(super) constants: IndexSet<Constant>,
    pub(super) rules: IdVec<RuleId, Rule>,
    pub(super) diagnostics: Vec<Diagnostic>,
    type_ids: FxHashMap<String, TypeId>,
    /// Number of generated predicates, for their names.
    n_generated: usize,
    /// Literals, variables and types in all rules together.
    weight: usize,
}

impl Tables {
    /// Tables with the six fixed types.
    pub(super) fn new() -> Self {
        let mut tables = Self {
            types: IdVec::new(),
            predicates: IndexSet::new(),
            constants: IndexSet::new(),
            rules: IdVec::new(),
            diagnostics: Vec::new(),
            type_ids: FxHashMap::default(),
            n_generated: 0,
            weight: 0,
        };
        for ty in Primitive::ALL {
            tables.add_type(ty.name(), TypeKind::Primitive);
        }
        tables.add_type(builtin::ACTOR, TypeKind::Abstract);
        tables.add_type(builtin::RESOURCE, TypeKind::Abstract);
        tables.types.push(TypeDef {
            name: String::new(),
            kind: TypeKind::Foreign,
            admits: vec![TypeId::FOREIGN],
        });
        tables
    }

    /// Adds a new type, which admits itself unless it is abstract.
    pub(super) fn add_type(&mut self, name: &str, kind: TypeKind) -> TypeId {
        let id = TypeId::from_index(self.types.len());
        let admits = if kind == TypeKind::Abstract { Vec::new() } else { vec![id] };
        self.types.push(TypeDef { name: name.to_owned(), kind, admits });
        self.type_ids.insert(name.to_owned(), id);
        id
    }

    /// The type of this name, if the policy mentions it.
    pub(super) fn find_type(&self, name: &str) -> Option<TypeId> {
        self.type_ids.get(name).copied()
    }

    /// The type of this name, added as a plain type if new.
    pub(super) fn type_named(&mut self, name: &str) -> TypeId {
        match self.find_type(name) {
            Some(id) => id,
            None => self.add_type(name, TypeKind::Plain),
        }
    }

    /// The kind of a type.
    pub(super) fn kind(&self, ty: TypeId) -> TypeKind {
        self.types[ty].kind
    }

    /// The concrete types that `x: ty` admits.
    pub(super) fn admits(&self, ty: TypeId) -> &[TypeId] {
        &self.types[ty].admits
    }

    /// The type set of a variable written `x: ty`.
    pub(super) fn var_type(&self, ty: TypeId) -> VarType {
        VarType::OneOf(self.admits(ty).to_vec())
    }

    /// The predicate of this name and arity.
    pub(super) fn predicate(&mut self, name: &str, arity: usize) -> PredId {
        let index = match self.predicates.get_index_of(&PredicateKey { name, arity }) {
            Some(index) => index,
            None => self.predicates.insert_full(Predicate { name: name.to_owned(), arity }).0,
        };
        PredId::from_index(index)
    }

    /// The predicate of this name and arity, if the policy mentions it.
    pub(super) fn find_predicate(&self, name: &str, arity: usize) -> Option<PredId> {
        self.predicates.get_index_of(&PredicateKey { name, arity }).map(PredId::from_index)
    }

    /// A new predicate for a part of a rule of `of`; its name cannot occur in a policy.
    pub(super) fn generated(&mut self, of: &str, arity: usize) -> PredId {
        self.n_generated += 1;
        let of = of.trim_start_matches('\'');
        let of = of.split('.').next().unwrap_or(of);
        let name = format!("'{of}.{}", self.n_generated);
        self.predicate(&name, arity)
    }

    /// The name of a predicate.
    #[expect(clippy::indexing_slicing, reason = "a predicate's id is its place among these predicates")]
    pub(super) fn predicate_name(&self, pred: PredId) -> &str {
        &self.predicates[pred.index()].name
    }

    /// Whether the resolver generated the predicate, so that it has no stored facts.
    pub(super) fn is_generated(&self, pred: PredId) -> bool {
        self.predicate_name(pred).starts_with('\'')
    }

    /// The literal of this type and canonical text.
    pub(super) fn constant(&mut self, ty: TypeId, text: &str) -> ConstId {
        let index = match self.constants.get_index_of(&ConstantKey { ty, text }) {
            Some(index) => index,
            None => self.constants.insert_full(Constant { ty, text: text.to_owned() }).0,
        };
        ConstId::from_index(index)
    }

    /// The String literal of this text.
    pub(super) fn string(&mut self, text: &str) -> ConstId {
        self.constant(TypeId::STRING, text)
    }

    /// The String literal of this text, if the policy has one.
    pub(super) fn find_string(&self, text: &str) -> Option<ConstId> {
        self.constants.get_index_of(&ConstantKey { ty: TypeId::STRING, text }).map(ConstId::from_index)
    }

    #[expect(clippy::indexing_slicing, reason = "a literal's id is its place among these literals")]
    fn literal(&self, constant: ConstId) -> &Constant {
        &self.constants[constant.index()]
    }

    /// A literal's type.
    pub(super) fn constant_type(&self, constant: ConstId) -> TypeId {
        self.literal(constant).ty
    }

    /// A literal's text.
    pub(super) fn constant_text(&self, constant: ConstId) -> &str {
        &self.literal(constant).text
    }

    /// Adds a rule. Rules beyond the limit are dropped, and reported once.
    pub(super) fn add_rule(&mut self, rule: Rule) {
        if self.is_full() {
            return;
        }
        let types = rule.vars.iter().map(|var| match &var.ty {
            VarType::Any => 1,
            VarType::OneOf(types) => 1 + types.len(),
        });
        self.weight += rule.body.len() + types.sum::<usize>();
        let span = rule.span;
        self.rules.push(rule);
        if self.is_full() {
            let rules = limits::RULES;
            self.report(
                Diagnostic::new(
                    Code::TooManyRules,
                    "the policy has too many rules",
                    span,
                    "this one is over the limit",
                )
                .with_note(format!(
                    "shorthand counts once for each rule that it stands for; the limit is {rules}"
                )),
            );
        }
    }

    /// Whether the limit on rules was exceeded, so that no more rules need be made.
    pub(super) fn is_full(&self) -> bool {
        self.rules.len() > limits::RULES || self.weight > limits::RULE_WEIGHT
    }

    /// Adds a finding.
    pub(super) fn report(&mut self, diagnostic: Diagnostic) {
        self.diagnostics.push(diagnostic);
    }

    /// Adds a finding about a name, with a suggestion if a similar candidate exists. The finding's own help
    /// is for when none does.
    pub(super) fn report_near<'n>(
        &mut self,
        diagnostic: Diagnostic,
        written: &str,
        candidates: impl IntoIterator<Item = &'n str>,
        replace: Replace,
    ) {
        // A suggestion scans all candidates, and findings beyond the cap are not shown.
        let near = if self.diagnostics.len() < limits::DIAGNOSTICS {
            suggest::near(written, candidates)
        } else {
            None
        };
        let diagnostic = match near {
            Some(near) => {
                let text = if replace.quoted { quoted(near) } else { near.to_owned() };
                let found = Diagnostic { help: None, ..diagnostic };
                found.with_fix(format!("a similar name exists: `{near}`"), replace.span, text)
            }
            None => diagnostic,
        };
        self.report(diagnostic);
    }
}

/// The text that a suggestion replaces.
#[derive(Clone, Copy, Debug)]
pub(super) struct Replace {
    span: Span,
    quoted: bool,
}

impl Replace {
    /// A string literal.
    pub(super) fn string(span: Span) -> Self {
        Self { span, quoted: true }
    }

    /// An identifier.
    pub(super) fn name(name: &Name) -> Self {
        Self { span: name.span, quoted: false }
    }
}
