//! Bound facts of types that the policy does not mention.
//!
//! Data bindings may have facts that a policy does not use, since one document serves several policies. A rule
//! that calls a predicate with a variable of any type means any type that the policy mentions. If such a rule
//! is negated, leaving a bound fact out would permit what the fact should deny. So it is refused here.

use crate::bindings::{Binding, BindingArg, Bindings};
use crate::ir::{Literal, LiteralKind, Polarity, PredId, Program, Rule, Term, TypeId, VarType};
use crate::refusal::{Place, Refusal};
use rustc_hash::FxHashSet;

/// The refusal of a document with facts that a rule denies whatever their type, where the policy does not
/// mention the type; `None` if it has no such facts.
pub fn refusal_of_unmentioned(program: &Program, bindings: &Bindings) -> Option<Refusal> {
    let mut denied = None;
    unmentioned(program, bindings).find_map(|(binding, ty)| {
        let pred = program.predicate_id(&binding.predicate, binding.args.len())?;
        let denied = denied.get_or_insert_with(|| denied_predicates(program));
        let literal = denying(program, denied, binding, pred)?;
        let rule = Place::of_rule(&program.source, literal.span);
        Some(Refusal::Unmentioned { key: binding.key.clone(), line: binding.line, ty: ty.to_owned(), rule })
    })
}

/// The bound facts of a predicate of the policy that have a type which the policy does not mention, with that
/// type. No rule reads them.
pub fn unmentioned<'b>(
    program: &'b Program,
    bindings: &'b Bindings,
) -> impl Iterator<Item = (&'b Binding, &'b str)> {
    let is_called =
        |binding: &&Binding| program.predicate_id(&binding.predicate, binding.args.len()).is_some();
    let unknown =
        |binding: &'b Binding| Some((binding, types(binding).find(|ty| program.type_id(ty).is_none())?));
    bindings.facts.iter().filter(is_called).filter_map(unknown)
}

fn types(binding: &Binding) -> impl Iterator<Item = &str> {
    binding.args.iter().map(|arg| match arg {
        BindingArg::Column { ty } | BindingArg::Constant { ty, .. } => ty.as_str(),
    })
}

/// The predicates whose facts may deny something: those that are negated, and those that their rules call.
fn denied_predicates(program: &Program) -> FxHashSet<PredId> {
    let mut denied: FxHashSet<PredId> =
        program.rules.iter().flat_map(|rule| rule.body.iter().filter_map(negated)).collect();
    loop {
        let before = denied.len();
        for rule in &program.rules {
            if denied.contains(&rule.head) {
                denied.extend(rule.body.iter().filter_map(called).map(|(pred, _)| pred));
            }
        }
        if denied.len() == before {
            return denied;
        }
    }
}

fn negated(literal: &Literal) -> Option<PredId> {
    match &literal.kind {
        LiteralKind::Atom { polarity: Polarity::Negated, pred, .. } => Some(*pred),
        _ => None,
    }
}

fn called(literal: &Literal) -> Option<(PredId, &[Term])> {
    match &literal.kind {
        LiteralKind::Atom { pred, args, .. } => Some((*pred, args)),
        LiteralKind::False
        | LiteralKind::Compare { .. }
        | LiteralKind::NotOfType { .. }
        | LiteralKind::OneOf { .. } => None,
    }
}

/// A call of a predicate that would see these facts if the policy mentioned their types, where they may deny
/// something.
fn denying<'p>(
    program: &'p Program,
    denied: &FxHashSet<PredId>,
    binding: &Binding,
    pred: PredId,
) -> Option<&'p Literal> {
    let calls = program.rules.iter().flat_map(|rule| rule.body.iter().map(move |literal| (rule, literal)));
    calls.into_iter().find_map(|(rule, literal)| {
        let (called, args) = called(literal)?;
        let may_deny = denied.contains(&rule.head) || negated(literal).is_some();
        let admits = |(term, arg): (&Term, &BindingArg)| admits(program, rule, *term, arg);
        (called == pred && may_deny && args.iter().zip(&binding.args).all(admits)).then_some(literal)
    })
}

/// Whether an argument of a call may have a bound value; one of an unknown type only if it may have any.
fn admits(program: &Program, rule: &Rule, term: Term, arg: &BindingArg) -> bool {
    let (BindingArg::Column { ty } | BindingArg::Constant { ty, .. }) = arg;
    let ty = program.type_id(ty);
    match term {
        Term::Var(var) => match &rule.vars[var].ty {
            VarType::Any => true,
            VarType::OneOf(types) => ty.is_some_and(|ty| types.contains(&ty)),
        },
        Term::Const(literal) => {
            let literal = program.literal(literal);
            let is_text = match arg {
                BindingArg::Column { .. } => true,
                BindingArg::Constant { text, .. } => *text == literal.text,
            };
            ty == Some(literal.ty) && is_text
        }
        Term::Now => ty == Some(TypeId::INTEGER),
    }
}
