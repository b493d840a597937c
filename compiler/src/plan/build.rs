//! One select in the making: goals still to plan, and what the sources so far bind.

use super::body::{Clause, Goal, ScanArg, Term};
use crate::algebra::{Alias, Condition, Expr, From, FromKind, Select};
use crate::catalog::ColumnId;
use crate::id_vec::IdVec;
use crate::ir::{CompareOp, Polarity, RuleId, VarId};
use crate::refusal::VarName;

/// A select in the making.
#[derive(Clone, Debug)]
pub(super) struct Build {
    /// Goals not planned yet.
    pub(super) goals: Vec<Goal>,
    /// Into how many alternatives the body was split on the way to this build.
    pub(super) n_split: usize,
    /// The rule that messages name.
    pub(super) rule: Option<RuleId>,
    /// The terms of the result.
    pub(super) output: Vec<Term>,
    /// The term whose values are those of the caller's column, and the value that the row gives it if nothing
    /// else binds it.
    pub(super) of_column: Option<(Term, Expr)>,
    /// The sources and conditions so far.
    pub(super) select: Select,
    env: IdVec<VarId, Option<Expr>>,
    names: IdVec<VarId, NamedVar>,
}

/// What messages call a variable, and the rule that does so.
#[derive(Clone, Debug)]
struct NamedVar {
    name: VarName,
    rule: Option<RuleId>,
}

impl Default for Build {
    fn default() -> Self {
        Self {
            goals: Vec::new(),
            n_split: 1,
            rule: None,
            output: Vec::new(),
            of_column: None,
            select: Select::default(),
            env: IdVec::new(),
            names: IdVec::new(),
        }
    }
}

impl Build {
    /// A variable that nothing binds yet.
    pub(super) fn new_var(&mut self, name: &VarName) -> Term {
        self.names.push(NamedVar { name: name.clone(), rule: self.rule });
        Term::Var(self.env.push(None))
    }

    /// A variable with a value.
    pub(super) fn bound(&mut self, expr: Expr) -> Term {
        self.names.push(NamedVar { name: VarName::UNNAMED, rule: self.rule });
        Term::Var(self.env.push(Some(expr)))
    }

    /// The value of a term; `None` if nothing binds it.
    pub(super) fn expr(&self, term: Term) -> Option<Expr> {
        match term {
            Term::Var(var) => self.env[var],
            Term::Const(literal) => Some(Expr::Const(literal)),
            Term::Given(var) => Some(Expr::Given(var)),
            Term::Now => Some(Expr::Now),
            Term::Tag(member) => Some(Expr::Tag(member)),
            Term::Filler => Some(Expr::Filler),
            Term::Local(_) | Term::Ignored => None,
        }
    }

    /// The name of a variable, for messages.
    pub(super) fn name(&self, term: Term) -> &VarName {
        term.var().map_or(&VarName::UNNAMED, |var| &self.names[var].name)
    }

    /// The rule that messages about a variable name: the one that gives it its name, if any does.
    pub(super) fn rule_of(&self, term: Term) -> Option<RuleId> {
        match term.var().map(|var| &self.names[var]) {
            Some(NamedVar { name: VarName::Written(_), rule }) => *rule,
            Some(NamedVar { name: VarName::OfQuestion(_) | VarName::Made(_), .. }) | None => self.rule,
        }
    }

    /// Gives an unbound variable its value, or demands that a bound one equals it.
    pub(super) fn meet(&mut self, term: Term, expr: Expr) {
        match (term, self.expr(term)) {
            (Term::Ignored, _) => {}
            (_, Some(known)) => {
                if known != expr {
                    let op = CompareOp::Equal;
                    self.select.filter.push(Condition::Compare { op, left: expr, right: known });
                }
            }
            (Term::Var(var), None) => self.env[var] = Some(expr),
            (
                Term::Const(_) | Term::Given(_) | Term::Now | Term::Tag(_) | Term::Filler | Term::Local(_),
                None,
            ) => {}
        }
    }

    /// Takes the value of the caller's column as given, if nothing binds it; false if that changes nothing.
    pub(super) fn take_column(&mut self) -> bool {
        match self.of_column.take() {
            Some((term, given)) if self.expr(term).is_none() => {
                self.meet(term, given);
                true
            }
            Some(_) | None => false,
        }
    }

    /// Adds a source and meets its columns with the terms.
    pub(super) fn join(&mut self, alias: Alias, kind: FromKind, args: &[ScanArg]) {
        self.select.from.push(From { alias, kind });
        for (column, arg) in ColumnId::all(args.len()).zip(args) {
            let expr = Expr::Column { alias, column };
            match arg {
                ScanArg::Term(term) => self.meet(*term, expr),
                ScanArg::OneOf(literals) => {
                    self.select.filter.push(Condition::OneOf { expr, literals: literals.clone() });
                }
            }
        }
    }

    /// The values of rows that a goal or the output still needs.
    pub(super) fn needed(&self) -> Vec<Expr> {
        let mut needed = Vec::new();
        let mut note = |term: Term| {
            let expr = self.expr(term).filter(|expr| expr.alias().is_some());
            needed.extend(expr.filter(|expr| !needed.contains(expr)));
        };
        self.output.iter().for_each(|term| note(*term));
        self.goals.iter().for_each(|goal| goal.for_each_term(&mut note));
        needed
    }

    /// Goes on from a source whose columns are the values `needed`, and forgets all other values of rows.
    pub(super) fn go_on_from(&mut self, from: From, needed: &[Expr]) {
        self.select = Select { from: vec![from], ..Select::default() };
        for value in &mut self.env {
            *value = value.and_then(|expr| {
                if expr.is_static() {
                    return Some(expr);
                }
                let place = needed.iter().position(|kept| *kept == expr)?;
                Some(Expr::Column { alias: from.alias, column: ColumnId::from_index(place) })
            });
        }
    }

    /// Adds a clause's goals, with the clause's head met with the caller's terms.
    pub(super) fn inline(&mut self, clause: &Clause, args: &[Term]) {
        // A clause without goals tests nothing, so no message should name its rule.
        let tests = !clause.goals.is_empty();
        if tests || self.rule.is_none() {
            self.rule = clause.rule.or(self.rule);
        }
        let mut names: IdVec<VarId, Option<Term>> = IdVec::like(&clause.var_names, None);
        let mut equal = Vec::new();
        for (head, arg) in clause.head.iter().zip(args) {
            match head {
                Term::Var(var) => match names[*var] {
                    None if *arg == Term::Ignored => {
                        let name = if tests { &clause.var_names[*var] } else { &VarName::UNNAMED };
                        names[*var] = Some(self.new_var(name));
                    }
                    None => names[*var] = Some(*arg),
                    Some(known) => equal.push((known, *arg)),
                },
                other => equal.push((*other, *arg)),
            }
        }
        let renamed = names.iter().zip(&clause.var_names);
        let names: IdVec<VarId, Term> =
            renamed.map(|(known, name)| known.unwrap_or_else(|| self.new_var(name))).collect();
        for (left, right) in equal {
            if right != Term::Ignored {
                self.goals.push(Goal::Compare { op: CompareOp::Equal, left, right });
            }
        }
        for goal in &clause.goals {
            let mut goal = goal.clone();
            goal.for_each_term_mut(&mut |term| {
                if let Term::Var(var) = *term {
                    *term = names[var];
                }
            });
            self.goals.push(goal);
        }
    }

    /// A build inside this one: the same variables, no sources, one positive goal and its guards. The
    /// goal's local variables become variables of the inner build.
    pub(super) fn inner(&self, goal: &Goal) -> Self {
        let mut inner = Self {
            goals: Vec::new(),
            n_split: 1,
            rule: self.rule,
            output: Vec::new(),
            of_column: None,
            select: Select::default(),
            env: self.env.clone(),
            names: self.names.clone(),
        };
        let mut goal = goal.clone();
        if let Goal::Scan { polarity, guards, .. } | Goal::Call { polarity, guards, .. } = &mut goal {
            *polarity = Polarity::Positive;
            inner.goals.extend(std::mem::take(guards).into_iter().map(|(left, literal)| Goal::Compare {
                op: CompareOp::Equal,
                left,
                right: Term::Const(literal),
            }));
        }
        let mut locals: Vec<(Term, Term)> = Vec::new();
        goal.for_each_term_mut(&mut |term| {
            if let Term::Local(_) = *term {
                let known = locals.iter().find(|(local, _)| local == term).map(|(_, new)| *new);
                let new = known.unwrap_or_else(|| inner.new_var(&VarName::UNNAMED));
                locals.push((*term, new));
                *term = new;
            }
        });
        inner.goals.push(goal);
        inner
    }
}
