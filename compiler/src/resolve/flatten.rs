//! Flattens rules: each alternative becomes a rule, and each negation applies to a single test.
//!
//! In: a [`NestedRule`], whose variables get their scopes here. Out: rules in the tables whose bodies are
//! plain conjunctions.
//!
//! ```text
//! p(x) if a(x) and (b(x) or c(x));      p(x) :- a(x), b(x)       p(x) :- a(x), c(x)
//! p(x) if a(x) and not (b(x) and c(x)); p(x) :- a(x), not b(x)   p(x) :- a(x), not c(x)
//! p(x) if a(x) and not (e(x, y) and b(y));   y is local, so the part becomes a predicate:
//!                                       p(x) :- a(x), not 'p.1(x)     'p.1(x) :- e(x, y), b(y)
//! ```
//!
//! Distribution is exponential in the worst case. So a conjunction with more than [`limits::ALTERNATIVES`]
//! alternatives replaces its largest disjunctions by generated predicates over the variables that they share
//! with the rest of the rule.

use super::formula::{AtomicTest, Formula, NestedRule, TestKind, intersect, variable};
use super::scope;
use super::tables::Tables;
use crate::diagnostic::{Code, Diagnostic};
use crate::id_vec::IdVec;
use crate::ir::{Literal, LiteralKind, Polarity, PredId, Rule, Term, VarId, VarType, Variable};
use crate::limits;
use crate::source::Span;

/// A conjunction of tests.
type Conjunction = Vec<AtomicTest>;

/// Adds the rules equivalent to a nested rule.
pub(super) fn flatten(tables: &mut Tables, mut nested: NestedRule) {
    let mut n_tests = 0;
    nested.body.for_each(&mut |_| n_tests += 1);
    if n_tests > limits::CONDITIONS {
        let title = format!("the condition of `{}` is too large", tables.predicate_name(nested.head));
        let diagnostic = Diagnostic::new(Code::ConditionTooLarge, title, nested.span, "split this rule");
        let limit = limits::CONDITIONS;
        tables.report(diagnostic.with_note(format!("it has {n_tests} tests, the limit is {limit}")));
        return;
    }
    let Some(depths) = scope::scope(tables, &mut nested) else { return };
    let NestedRule { head, params, vars, body, span, .. } = nested;
    let mut uses = IdVec::like(&vars, 0);
    params.iter().filter_map(|&term| variable(term)).for_each(|var| count(&mut uses, var));
    body.for_each(&mut |test| test.vars().for_each(|var| count(&mut uses, var)));
    let mut flattener = Flattener { tables, vars, depths, uses, head, span };
    let alternatives = flattener.alternatives(&body, 0);
    flattener.add_rules(head, &params, alternatives);
}

fn count(uses: &mut IdVec<VarId, usize>, var: VarId) {
    uses[var] += 1;
}

struct Flattener<'t> {
    tables: &'t mut Tables,
    vars: IdVec<VarId, Variable>,
    /// The depth of each variable's scope, in `not`s.
    depths: IdVec<VarId, u32>,
    /// How often each variable occurs in the whole rule.
    uses: IdVec<VarId, usize>,
    head: PredId,
    span: Span,
}

impl Flattener<'_> {
    /// The alternatives of a formula inside `depth` `not`s; false if empty.
    fn alternatives(&mut self, formula: &Formula, depth: u32) -> Vec<Conjunction> {
        match formula {
            Formula::Test(test) => vec![vec![test.clone()]],
            Formula::Or(parts) => parts.iter().flat_map(|part| self.alternatives(part, depth)).collect(),
            Formula::And(parts) => {
                let mut choices: Vec<Vec<Conjunction>> =
                    parts.iter().map(|part| self.alternatives(part, depth)).collect();
                self.shrink(parts, &mut choices);
                product(choices)
            }
            Formula::Not(inner) => {
                let inner = self.alternatives(inner, depth + 1);
                self.negate(inner, depth)
            }
        }
    }

    /// Replaces the largest disjunctions by predicates until their product is within the limit.
    fn shrink(&mut self, parts: &[Formula], choices: &mut [Vec<Conjunction>]) {
        let product = |choices: &[Vec<Conjunction>]| {
            choices.iter().fold(1_usize, |product, choice| product.saturating_mul(choice.len()))
        };
        while product(choices) > limits::ALTERNATIVES {
            let largest = choices.iter_mut().zip(parts).max_by_key(|(choice, _)| choice.len());
            let Some((choice, part)) = largest else { return };
            let shared = self.shared(part);
            *choice = vec![vec![self.outline(std::mem::take(choice), &shared)]];
        }
    }

    /// The variables of a part that also occur elsewhere in the rule.
    fn shared(&self, part: &Formula) -> Vec<VarId> {
        let mut inside = IdVec::like(&self.uses, 0);
        part.for_each(&mut |test| test.vars().for_each(|var| count(&mut inside, var)));
        inside.ids().filter(|&var| inside[var] > 0 && inside[var] < self.uses[var]).collect()
    }

    /// Generates a predicate from alternatives, over these variables.
    fn outline(&mut self, alternatives: Vec<Conjunction>, vars: &[VarId]) -> AtomicTest {
        let span = alternatives.iter().flatten().map(|test| test.span).reduce(Span::to).unwrap_or(self.span);
        let of = self.tables.predicate_name(self.head).to_owned();
        let pred = self.tables.generated(&of, vars.len());
        let args: Vec<Term> = vars.iter().map(|&var| Term::Var(var)).collect();
        self.add_rules(pred, &args, alternatives);
        AtomicTest { kind: TestKind::Atom { polarity: Polarity::Positive, pred, args }, span }
    }

    /// The alternatives of "none of these holds".
    fn negate(&mut self, alternatives: Vec<Conjunction>, depth: u32) -> Vec<Conjunction> {
        let mut choices = Vec::with_capacity(alternatives.len());
        let mut n_product = 1_usize;
        for (at, alternative) in alternatives.into_iter().enumerate() {
            n_product = n_product.saturating_mul(alternative.len().max(1));
            let has_locals =
                alternative.iter().flat_map(AtomicTest::vars).any(|var| self.is_local(var, depth));
            // Only an atom can be negated with a local variable in it.
            let is_atom = matches!(alternative.as_slice(), [AtomicTest { kind: TestKind::Atom { .. }, .. }]);
            let too_many = alternative.len() > 1 && n_product > limits::ALTERNATIVES;
            choices.push(if (has_locals && !is_atom) || too_many {
                let mut outer: Vec<VarId> = alternative
                    .iter()
                    .flat_map(AtomicTest::vars)
                    .filter(|&var| !self.is_local(var, depth))
                    .collect();
                outer.sort_unstable();
                outer.dedup();
                vec![vec![self.outline(vec![alternative], &outer).negated()]]
            } else {
                alternative.into_iter().map(|test| vec![self.apart(test, depth, at).negated()]).collect()
            });
        }
        product(choices)
    }

    /// Whether a variable is local to the `not` at `depth` or to a deeper one.
    fn is_local(&self, var: VarId, depth: u32) -> bool {
        self.depths[var] > depth
    }

    /// The test with local variables of its own, unless it is the first of its `not`. In `not (p(x)
    /// or q(x))`, each negated test has its own `x`.
    fn apart(&mut self, mut test: AtomicTest, depth: u32, at: usize) -> AtomicTest {
        let mut locals: Vec<VarId> = test.vars().filter(|&var| at > 0 && self.is_local(var, depth)).collect();
        locals.sort_unstable();
        locals.dedup();
        for local in locals {
            let copy = self.vars.push(self.vars[local].clone());
            self.depths.push(self.depths[local]);
            test.map_vars(|var| if var == local { copy } else { var });
        }
        test
    }

    /// Adds a rule for each alternative. Without alternatives, adds one rule that never holds, so that the
    /// predicate is not mistaken for one of stored facts.
    fn add_rules(&mut self, head: PredId, params: &[Term], alternatives: Vec<Conjunction>) {
        if alternatives.is_empty() {
            let never = Literal { kind: LiteralKind::False, span: self.span };
            let rule = Renumber::new(&self.vars).rule(head, params, Vec::new(), self.span);
            self.tables.add_rule(Rule { body: vec![never].into(), ..rule });
        }
        for alternative in alternatives {
            let rule = Renumber::new(&self.vars).rule(head, params, alternative, self.span);
            self.tables.add_rule(rule);
        }
    }
}

/// The cross product of the choices.
fn product(choices: Vec<Vec<Conjunction>>) -> Vec<Conjunction> {
    let mut product: Vec<Conjunction> = vec![Vec::new()];
    for mut choice in choices {
        if let [only] = choice.as_mut_slice() {
            let only = std::mem::take(only);
            let Some((last, rest)) = product.split_last_mut() else { return product };
            for alternative in rest {
                alternative.extend(only.iter().cloned());
            }
            last.extend(only);
        } else {
            let join = |before: &Conjunction| -> Vec<Conjunction> {
                choice.iter().map(|after| before.iter().chain(after).cloned().collect()).collect()
            };
            product = product.iter().flat_map(join).collect();
        }
    }
    product
}

/// Renumbers the variables of a rule and drops unused ones.
struct Renumber<'v> {
    all: &'v IdVec<VarId, Variable>,
    ids: IdVec<VarId, Option<VarId>>,
    vars: IdVec<VarId, Variable>,
}

impl<'v> Renumber<'v> {
    fn new(all: &'v IdVec<VarId, Variable>) -> Self {
        Self { all, ids: IdVec::like(all, None), vars: IdVec::new() }
    }

    fn rule(mut self, head: PredId, params: &[Term], tests: Conjunction, span: Span) -> Rule {
        let params = params.iter().map(|&term| self.term(term)).collect();
        let mut body: Vec<Literal> = Vec::with_capacity(tests.len());
        // Types last: they narrow variables of other tests; a variable without another test only needs to
        // exist.
        let (types, tests): (Vec<AtomicTest>, Vec<AtomicTest>) =
            tests.into_iter().partition(|test| match test.kind {
                TestKind::OfType { polarity: Polarity::Positive, .. } => true,
                TestKind::OfType { polarity: Polarity::Negated, .. }
                | TestKind::Atom { .. }
                | TestKind::Compare { .. }
                | TestKind::OneOf { .. } => false,
            });
        for test in tests {
            let literal = Literal { span: test.span, kind: self.literal(test.kind) };
            if !body.iter().take(limits::ALTERNATIVES).any(|earlier| earlier.kind == literal.kind) {
                body.push(literal);
            }
        }
        let n_mentioned = self.vars.len();
        for test in types {
            if let TestKind::OfType { var, types, .. } = &test.kind {
                let var = self.var(*var);
                let variable = &mut self.vars[var];
                intersect(&mut variable.ty, types);
                if variable.ty == VarType::OneOf(Vec::new()) && var.index() >= n_mentioned {
                    body.push(Literal { kind: LiteralKind::False, span: test.span });
                }
            }
        }
        let vars = self.vars.into_iter().take(n_mentioned).collect();
        Rule { head, params, vars, body: body.into(), span }
    }

    fn literal(&mut self, kind: TestKind) -> LiteralKind {
        match kind {
            TestKind::Atom { polarity, pred, args } => LiteralKind::Atom {
                polarity,
                pred,
                args: args.into_iter().map(|arg| self.term(arg)).collect(),
            },
            TestKind::Compare { op, left, right } => {
                LiteralKind::Compare { op, left: self.term(left), right: self.term(right) }
            }
            TestKind::OneOf { polarity, term, values } => {
                LiteralKind::OneOf { polarity, term: self.term(term), values }
            }
            TestKind::OfType { var, types, .. } => LiteralKind::NotOfType { var: self.var(var), types },
        }
    }

    fn term(&mut self, term: Term) -> Term {
        match term {
            Term::Var(var) => Term::Var(self.var(var)),
            Term::Const(_) | Term::Now => term,
        }
    }

    fn var(&mut self, var: VarId) -> VarId {
        if let Some(id) = self.ids[var] {
            return id;
        }
        let id = self.vars.push(self.all[var].clone());
        self.ids[var] = Some(id);
        id
    }
}
