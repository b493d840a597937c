//! Finding the rules and stored relations that can match a call, without reading all of them.

use super::pattern::{Pattern, PatternArg};
use crate::catalog::{Catalog, RelationArg};
use crate::ir::{
    ConstId, Constant, LiteralKind, Polarity, PredId, Predicate, Program, RuleId, SignatureArg, Term, TypeId,
    VarId, VarType,
};
use indexmap::IndexSet;
use rustc_hash::FxHashMap;

/// The rules of one predicate, by the type that each position admits.
#[derive(Clone, Debug, Default)]
struct RulesOf {
    all: Vec<RuleId>,
    /// One map a position: type → rules whose parameter admits it, in source order.
    by_type: Vec<FxHashMap<TypeId, Vec<RuleId>>>,
    /// One list a position: whether some rule admits any type there, so that the map is of no use.
    open: Vec<bool>,
}

/// What the specialiser asks of a policy again and again; made once a policy.
#[derive(Clone, Debug, Default)]
pub(crate) struct RuleIndex {
    rules: Vec<RulesOf>,
    /// One entry a rule: which variables occur in a single negated atom and nowhere else.
    locals: Vec<Vec<bool>>,
}

impl RuleIndex {
    /// Reads all rules once.
    pub(crate) fn new(program: &Program) -> Self {
        let mut rules: Vec<RulesOf> = Vec::new();
        for predicate in &program.predicates {
            let arity = predicate.arity;
            rules.push(RulesOf {
                all: Vec::new(),
                by_type: vec![FxHashMap::default(); arity],
                open: vec![false; arity],
            });
        }
        for (rule_idx, rule) in program.rules.iter().enumerate() {
            let Some(of) = rules.get_mut(rule.head.index()) else { continue };
            let id = RuleId::from_index(rule_idx);
            of.all.push(id);
            for ((param, by_type), open) in rule.params.iter().zip(&mut of.by_type).zip(&mut of.open) {
                let types: &[TypeId] = match param {
                    Term::Const(literal) => match program.constants.get_index(literal.index()) {
                        Some(constant) => &[constant.ty],
                        None => &[],
                    },
                    Term::Now => &[TypeId::INTEGER],
                    Term::Var(var) => match rule.vars.get(var.index()).map(|var| &var.ty) {
                        Some(VarType::OneOf(types)) => types,
                        Some(VarType::Any) | None => {
                            *open = true;
                            &[]
                        }
                    },
                };
                for ty in types {
                    by_type.entry(*ty).or_default().push(id);
                }
            }
        }
        let locals =
            program.rules.iter().map(|rule| locals(&rule.params, &rule.body, rule.vars.len())).collect();
        Self { rules, locals }
    }

    /// The rules that may match a call, in source order; a superset of those that do.
    pub(super) fn candidates(&self, pattern: &Pattern) -> &[RuleId] {
        let Some(of) = self.rules.get(pattern.pred.index()) else { return &[] };
        let mut best: &[RuleId] = &of.all;
        for ((arg, by_type), open) in pattern.args.iter().zip(&of.by_type).zip(&of.open) {
            let ty = match arg {
                PatternArg::Literal(_) => TypeId::STRING,
                PatternArg::Typed(ty) => *ty,
                PatternArg::Untyped => continue,
            };
            if *open {
                continue;
            }
            let rules = by_type.get(&ty).map_or(&[][..], Vec::as_slice);
            if rules.len() < best.len() {
                best = rules;
            }
        }
        best
    }

    /// For each variable of the rule: does it occur in one negated atom alone?
    pub(super) fn locals(&self, rule: RuleId) -> &[bool] {
        self.locals.get(rule.index()).map_or(&[], Vec::as_slice)
    }
}

/// Which variables occur in a single negated atom and nowhere else: existential inside the negation.
pub(super) fn locals(params: &[Term], body: &[crate::ir::Literal], n_vars: usize) -> Vec<bool> {
    const OUTSIDE: usize = usize::MAX;
    let mut seen: Vec<Option<usize>> = vec![None; n_vars];
    let mut note = |term: &Term, place: usize| {
        if let Term::Var(VarId(index)) = term
            && let Some(slot) = seen.get_mut(*index as usize)
        {
            *slot = match *slot {
                None => Some(place),
                Some(before) if before == place => Some(place),
                Some(_) => Some(OUTSIDE),
            };
        }
    };
    for param in params {
        note(param, OUTSIDE);
    }
    for (literal_idx, literal) in body.iter().enumerate() {
        match &literal.kind {
            LiteralKind::Atom { polarity, args, .. } => {
                let place = match polarity {
                    Polarity::Negated => literal_idx,
                    Polarity::Positive => OUTSIDE,
                };
                args.iter().for_each(|arg| note(arg, place));
            }
            LiteralKind::Compare { left, right, .. } => {
                note(left, OUTSIDE);
                note(right, OUTSIDE);
            }
            LiteralKind::OneOf { term, .. } => note(term, OUTSIDE),
            LiteralKind::NotOfType { var, .. } => note(&Term::Var(*var), OUTSIDE),
            LiteralKind::False => {}
        }
    }
    seen.into_iter().map(|place| place.is_some_and(|place| place != OUTSIDE)).collect()
}

/// A catalog relation with its names resolved.
#[derive(Clone, Debug)]
pub(super) struct Source {
    /// Index into the catalog.
    pub(super) index: usize,
    /// One entry an argument.
    pub(super) args: Vec<SourceArg>,
}

/// One argument of a source.
#[derive(Clone, Copy, Debug)]
pub(super) enum SourceArg {
    /// A column of values of this type.
    Column(TypeId),
    /// Always this literal.
    Constant(ConstId),
    /// A column of values of some type; used where only the graph of dependencies is asked for.
    Open,
}

/// The catalog's relations that hold facts of the policy's predicates and types.
#[derive(Debug, Default)]
pub(super) struct Sources {
    by_predicate: FxHashMap<PredId, Vec<Source>>,
    /// Literals that the policy does not have.
    pub(super) extra_constants: IndexSet<Constant>,
}

impl Sources {
    /// Resolves a catalog; relations with an unknown predicate or type can match nothing and are left out.
    pub(super) fn new(program: &Program, catalog: &Catalog) -> Self {
        let mut sources = Self::default();
        for (index, relation) in catalog.relations.iter().enumerate() {
            let predicate = Predicate { name: relation.predicate.clone(), arity: relation.args.len() };
            let Some(pred) = program.predicates.get_index_of(&predicate).map(PredId::from_index) else {
                continue;
            };
            let args = relation.args.iter().map(|arg| sources.arg(program, arg)).collect::<Option<Vec<_>>>();
            if let Some(args) = args {
                sources.by_predicate.entry(pred).or_default().push(Source { index, args });
            }
        }
        sources
    }

    /// A relation for everything that the policy's signatures admit.
    pub(super) fn of_signatures(program: &Program) -> Self {
        let mut sources = Self::default();
        for (index, signature) in program.signatures.iter().enumerate() {
            let predicate = Predicate { name: signature.predicate.clone(), arity: signature.args.len() };
            let Some(pred) = program.predicates.get_index_of(&predicate).map(PredId::from_index) else {
                continue;
            };
            let args = signature.args.iter().map(|arg| match arg {
                SignatureArg::OneOf(types) => match types.as_slice() {
                    [ty] => SourceArg::Column(*ty),
                    _ => SourceArg::Open,
                },
                SignatureArg::Literal(text) => program
                    .string_literal(text)
                    .map_or(SourceArg::Column(TypeId::STRING), SourceArg::Constant),
                SignatureArg::Any => SourceArg::Open,
            });
            sources.by_predicate.entry(pred).or_default().push(Source { index, args: args.collect() });
        }
        sources
    }

    fn arg(&mut self, program: &Program, arg: &RelationArg) -> Option<SourceArg> {
        match arg {
            RelationArg::Column { ty, .. } => Some(SourceArg::Column(program.type_id(ty)?)),
            RelationArg::Constant { ty, text } => {
                let constant = Constant { ty: program.type_id(ty)?, text: text.clone() };
                let id = match program.constants.get_index_of(&constant) {
                    Some(index) => index,
                    None => program.constants.len() + self.extra_constants.insert_full(constant).0,
                };
                Some(SourceArg::Constant(ConstId::from_index(id)))
            }
        }
    }

    /// The relation of this index in the catalog.
    pub(super) fn find(&self, index: usize) -> Option<&Source> {
        self.by_predicate.values().flatten().find(|source| source.index == index)
    }

    /// The relations that hold facts of a predicate, in catalog order.
    pub(super) fn of(&self, pred: PredId) -> &[Source] {
        self.by_predicate.get(&pred).map_or(&[], Vec::as_slice)
    }
}
