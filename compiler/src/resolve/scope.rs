//! Finds the scope of each variable, and rejects variables that nothing binds.
//!
//! In: a [`NestedRule`], in which each name is one variable. Out: the depth of each variable's scope, counted
//! in `not`s. A variable that occurs only inside one `not` is existential there and has that `not`'s depth.
//! All others have depth 0: they occur in the head or the positive part. Afterwards no two `not`s share a
//! local variable, and every variable of a negated test or a comparison is bound.
//!
//! ```text
//! ok(u) if member(u, g) and not (banned(u, x) and not forgiven(u, x, y));
//!    0             0 0              0  1              0  1  2
//! ```
//!
//! A variable is *bound* by the head, a positive predicate, `=` with a bound term, or `in`. In an `or`, every
//! alternative must bind it.

use super::formula::{AtomicTest, Formula, NestedRule, TestKind, variable};
use super::tables::Tables;
use crate::diagnostic::{Code, Diagnostic};
use crate::id_vec::{IdSet, IdVec};
use crate::ir::{CompareOp, Polarity, Term, VarId};
use crate::source::Span;

/// Limit on the steps of the search for bound variables in one rule; real rules take a few dozen.
const FUEL: usize = 2_000_000;

/// A set of a rule's variables.
type Vars = IdSet<VarId>;

/// Renames local variables apart. Returns each variable's depth, or `None` if one is unbound.
pub(super) fn scope(tables: &mut Tables, nested: &mut NestedRule) -> Option<IdVec<VarId, u32>> {
    let head: Vars = nested.params.iter().filter_map(|&term| variable(term)).collect();
    let mut body = std::mem::replace(&mut nested.body, Formula::truth(true));
    let mut scope = RuleScope {
        tables,
        depths: IdVec::like(&nested.vars, None),
        nested,
        refused: Vec::new(),
        fuel: FUEL,
    };
    if needs_scopes(&body) {
        scope.separate(&mut body, head.clone(), 0);
        scope.check(&body, head, 0);
    }
    let RuleScope { depths, refused, fuel, .. } = scope;
    nested.body = body;
    if fuel == 0 {
        let title = format!("the condition of `{}` is too large", tables.predicate_name(nested.head));
        let found = Diagnostic::new(Code::ConditionTooLarge, title, nested.span, "split this rule");
        tables.report(
            found.with_note(format!("finding what binds its variables takes more than {FUEL} steps")),
        );
        return None;
    }
    refused.is_empty().then(|| depths.iter().map(|depth| depth.unwrap_or(0)).collect())
}

/// Whether any part of the body needs bound variables.
fn needs_scopes(formula: &Formula) -> bool {
    match formula {
        Formula::And(parts) | Formula::Or(parts) => parts.iter().any(needs_scopes),
        Formula::Not(_) => true,
        Formula::Test(test) => match test.kind {
            TestKind::Atom { .. } => false,
            TestKind::Compare { .. } | TestKind::OneOf { .. } | TestKind::OfType { .. } => true,
        },
    }
}

struct RuleScope<'t> {
    tables: &'t mut Tables,
    nested: &'t mut NestedRule,
    /// The depth of each variable's scope; `None` until a `not` claims it.
    depths: IdVec<VarId, Option<u32>>,
    refused: Vec<VarId>,
    fuel: usize,
}

impl RuleScope<'_> {
    /// Gives each `not` in `formula` its own local variables. `visible` are the variables of outer levels.
    fn separate(&mut self, formula: &mut Formula, mut visible: Vars, depth: u32) {
        mark_positive(formula, &mut visible);
        self.hidden(formula, &visible);
        self.enter_nots(formula, &visible, depth);
    }

    /// The variables that occur only inside `not`s of this level. One that occurs in two `not`s of a
    /// conjunction is rejected.
    fn hidden(&mut self, formula: &Formula, visible: &Vars) -> Vec<(VarId, Span)> {
        match formula {
            Formula::Test(_) => Vec::new(),
            Formula::Not(inner) => {
                let mut hidden: Vec<(VarId, Span)> = Vec::new();
                inner.for_each(&mut |test| {
                    let new = test.vars().filter(|&var| !visible.contains(var));
                    hidden.extend(new.map(|var| (var, test.span)));
                });
                first_of_each(hidden)
            }
            Formula::Or(parts) => {
                first_of_each(parts.iter().flat_map(|part| self.hidden(part, visible)).collect())
            }
            Formula::And(parts) => {
                let mut all: Vec<(VarId, Span)> =
                    parts.iter().flat_map(|part| self.hidden(part, visible)).collect();
                all.sort_by_key(|&(var, _)| var);
                let twice = all.windows(2).filter_map(|pair| match pair {
                    [(a, first), (b, second)] if a == b => Some((*a, *first, *second)),
                    _ => None,
                });
                for (var, first, second) in twice.collect::<Vec<_>>() {
                    self.refuse_shared(var, first, second);
                }
                first_of_each(all)
            }
        }
    }

    fn enter_nots(&mut self, formula: &mut Formula, visible: &Vars, depth: u32) {
        match formula {
            Formula::And(parts) | Formula::Or(parts) => {
                for part in parts {
                    self.enter_nots(part, visible, depth);
                }
            }
            Formula::Not(inner) => {
                let mut positive = visible.clone();
                mark_positive(inner, &mut positive);
                for var in positive.iter().filter(|var| !visible.contains(*var)) {
                    self.claim(inner, var, depth + 1);
                }
                self.separate(inner, visible.clone(), depth + 1);
            }
            Formula::Test(_) => {}
        }
    }

    /// Makes a variable local to a `not`. If a `not` of another alternative has claimed it, makes a copy.
    fn claim(&mut self, inner: &mut Formula, var: VarId, depth: u32) {
        if self.depths[var].is_none() {
            self.depths[var] = Some(depth);
        } else {
            let copied = self.nested.vars[var].clone();
            let copy = self.nested.new_var(&copied.name, copied.ty);
            self.depths.push(Some(depth));
            rename(inner, var, copy);
        }
    }

    /// Checks that all variables that must be bound are. `bound` are those bound by outer levels.
    fn check(&mut self, formula: &Formula, mut bound: Vars, depth: u32) {
        grow(formula, &mut bound, &mut self.fuel);
        self.check_bound(formula, &bound, depth);
    }

    fn check_bound(&mut self, formula: &Formula, bound: &Vars, depth: u32) {
        match formula {
            Formula::And(parts) => parts.iter().for_each(|part| self.check_bound(part, bound, depth)),
            Formula::Or(parts) => parts.iter().for_each(|part| self.check(part, bound.clone(), depth)),
            Formula::Not(inner) => {
                inner.for_each(&mut |test| {
                    for var in test.vars() {
                        let lives = self.depths[var].unwrap_or(0);
                        if lives <= depth && !bound.contains(var) {
                            self.refuse_unbound(var, test, true);
                        }
                    }
                });
                self.check(inner, bound.clone(), depth + 1);
            }
            Formula::Test(test) => {
                let must_be_bound = match test.kind {
                    TestKind::Atom { .. } => false,
                    TestKind::Compare { .. } | TestKind::OneOf { .. } => true,
                    TestKind::OfType { .. } => depth > 0,
                };
                for var in test.vars().filter(|_| must_be_bound) {
                    if !bound.contains(var) {
                        self.refuse_unbound(var, test, depth > 0);
                    }
                }
            }
        }
    }

    fn refuse_unbound(&mut self, var: VarId, test: &AtomicTest, in_negation: bool) {
        // Without fuel, the search may have missed a binding.
        if self.fuel == 0 || self.refused.contains(&var) {
            return;
        }
        self.refused.push(var);
        let name = &self.nested.vars[var].name;
        let (title, help) = if in_negation {
            (
                format!("nothing binds `{name}`, which a `not` tests"),
                format!("bind `{name}` in the head, or by a predicate that is not negated"),
            )
        } else {
            (
                format!("nothing binds `{name}`, which is compared here"),
                format!("bind `{name}` in the head, or by a predicate"),
            )
        };
        let diagnostic =
            Diagnostic::new(Code::UnboundInNegation, title, test.span, "this could be any value");
        self.tables.report(diagnostic.with_help(help));
    }

    fn refuse_shared(&mut self, var: VarId, first: Span, second: Span) {
        if self.refused.contains(&var) {
            return;
        }
        self.refused.push(var);
        let name = &self.nested.vars[var].name;
        let diagnostic = Diagnostic::new(
            Code::UnboundInNegation,
            format!("nothing binds `{name}`, which two `not`s share"),
            second,
            "the second one",
        )
        .with_label(first, "the first one")
        .with_help(format!(
            "if they mean different values, rename one of them; if the same, bind `{name}` by a predicate that is not negated"
        ));
        self.tables.report(diagnostic);
    }
}

fn first_of_each(mut vars: Vec<(VarId, Span)>) -> Vec<(VarId, Span)> {
    vars.sort_by_key(|&(var, _)| var);
    vars.dedup_by_key(|&mut (var, _)| var);
    vars
}

/// Adds the variables that occur outside of any `not`.
fn mark_positive(formula: &Formula, vars: &mut Vars) {
    match formula {
        Formula::And(parts) | Formula::Or(parts) => parts.iter().for_each(|part| mark_positive(part, vars)),
        Formula::Not(_) => {}
        Formula::Test(test) => test.vars().for_each(|var| {
            vars.insert(var);
        }),
    }
}

fn rename(formula: &mut Formula, from: VarId, to: VarId) {
    match formula {
        Formula::And(parts) | Formula::Or(parts) => parts.iter_mut().for_each(|part| rename(part, from, to)),
        Formula::Not(inner) => rename(inner, from, to),
        Formula::Test(test) => test.map_vars(|var| if var == from { to } else { var }),
    }
}

/// Adds the variables that the formula binds to `bound`; returns whether any was new.
///
/// The worst case is exponential in the nesting of `or`, so each visit uses up `fuel`. Without fuel, nothing
/// is added.
fn grow(formula: &Formula, bound: &mut Vars, fuel: &mut usize) -> bool {
    match formula {
        Formula::And(parts) => grow_by_all(parts, bound, fuel),
        Formula::Or(parts) => grow_by_alternatives(parts, bound, fuel),
        Formula::Not(_) => false,
        Formula::Test(test) => grow_by_test(test, bound),
    }
}

/// Adds what the parts of a conjunction bind, in any order.
fn grow_by_all(parts: &[Formula], bound: &mut Vars, fuel: &mut usize) -> bool {
    let mut tests = Vec::new();
    let mut alternatives = Vec::new();
    let mut open: Vec<&Formula> = parts.iter().rev().collect();
    while let Some(part) = open.pop() {
        match part {
            Formula::And(parts) => open.extend(parts.iter().rev()),
            Formula::Or(parts) => alternatives.push(parts),
            Formula::Not(_) => {}
            Formula::Test(test) => tests.push(test),
        }
    }
    let mut ever = false;
    for round in 0.. {
        let mut by_tests = false;
        while tests.iter().fold(false, |grown, test| grow_by_test(test, bound) | grown) {
            by_tests = true;
            if !spend(fuel, tests.len()) {
                return true;
            }
        }
        ever |= by_tests;
        // A lone disjunction binds nothing more in a second round.
        if round > 0 && !by_tests && alternatives.len() < 2 {
            break;
        }
        if !alternatives.iter().fold(false, |grown, parts| grow_by_alternatives(parts, bound, fuel) | grown) {
            break;
        }
        ever = true;
    }
    ever
}

/// Adds what every alternative binds.
fn grow_by_alternatives(parts: &[Formula], bound: &mut Vars, fuel: &mut usize) -> bool {
    let mut every: Option<Vars> = None;
    for part in parts {
        if !spend(fuel, 1 + bound.n_visited() / 64) {
            return false;
        }
        let mut alternative = bound.clone();
        grow(part, &mut alternative, fuel);
        match &mut every {
            None => every = Some(alternative),
            Some(every) => every.intersect(&alternative),
        }
    }
    let Some(every) = every else { return false };
    // Each alternative binds what was bound before it.
    let grown = every.len() > bound.len();
    *bound = every;
    grown
}

fn spend(fuel: &mut usize, cost: usize) -> bool {
    *fuel = fuel.saturating_sub(cost);
    *fuel > 0
}

fn grow_by_test(test: &AtomicTest, bound: &mut Vars) -> bool {
    let is_bound = |bound: &Vars, term| match term {
        Term::Var(var) => bound.contains(var),
        Term::Const(_) | Term::Now => true,
    };
    let mut grown = false;
    let mut bind = |bound: &mut Vars, term| {
        if let Term::Var(var) = term {
            grown |= bound.insert(var);
        }
    };
    match &test.kind {
        TestKind::Atom { polarity: Polarity::Positive, args, .. } => {
            for &arg in args {
                bind(bound, arg);
            }
        }
        TestKind::Compare { op: CompareOp::Equal, left, right } => {
            if is_bound(bound, *left) || is_bound(bound, *right) {
                bind(bound, *left);
                bind(bound, *right);
            }
        }
        TestKind::OneOf { polarity: Polarity::Positive, term, .. } => bind(bound, *term),
        TestKind::Atom { polarity: Polarity::Negated, .. }
        | TestKind::OneOf { polarity: Polarity::Negated, .. }
        | TestKind::Compare { .. }
        | TestKind::OfType { .. } => {}
    }
    grown
}
