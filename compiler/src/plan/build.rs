//! One select in the making: goals still to plan, and what the sources so far bind.

use super::body::{Clause, Goal, ScanArg, Term};
use crate::algebra::{Alias, Condition, Expr, From, FromKind, Select};
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
    /// What must come out.
    pub(super) output: Vec<Term>,
    /// The sources and conditions so far.
    pub(super) select: Select,
    env: Vec<Option<Expr>>,
    names: Vec<VarName>,
}

impl Default for Build {
    fn default() -> Self {
        Self {
            goals: Vec::new(),
            n_split: 1,
            rule: None,
            output: Vec::new(),
            select: Select::default(),
            env: Vec::new(),
            names: Vec::new(),
        }
    }
}

impl Build {
    /// A variable that nothing binds yet.
    pub(super) fn fresh(&mut self, name: &VarName) -> Term {
        self.env.push(None);
        self.names.push(name.clone());
        Term::Var(VarId::from_index(self.env.len() - 1))
    }

    /// A variable that stands for a value.
    pub(super) fn bound(&mut self, expr: Expr) -> Term {
        self.env.push(Some(expr));
        self.names.push(VarName::UNNAMED);
        Term::Var(VarId::from_index(self.env.len() - 1))
    }

    /// What a term stands for; `None` if nothing binds it.
    pub(super) fn expr(&self, term: Term) -> Option<Expr> {
        match term {
            Term::Var(var) => self.env.get(var.index()).copied().flatten(),
            Term::Const(literal) => Some(Expr::Const(literal)),
            Term::Given(var) => Some(Expr::Given(var)),
            Term::Now => Some(Expr::Now),
            Term::Tag(tag) => Some(Expr::Tag(tag)),
            Term::Local(_) | Term::Ignored => None,
        }
    }

    /// The name of a variable, for messages.
    pub(super) fn name(&self, term: Term) -> &VarName {
        match term {
            Term::Var(var) => self.names.get(var.index()).unwrap_or(&VarName::UNNAMED),
            Term::Const(_) | Term::Given(_) | Term::Now | Term::Tag(_) | Term::Local(_) | Term::Ignored => {
                &VarName::UNNAMED
            }
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
            (Term::Var(var), None) => {
                if let Some(slot) = self.env.get_mut(var.index()) {
                    *slot = Some(expr);
                }
            }
            (Term::Const(_) | Term::Given(_) | Term::Now | Term::Tag(_) | Term::Local(_), None) => {}
        }
    }

    /// Adds a source and meets its columns with the terms.
    pub(super) fn join(&mut self, alias: Alias, kind: FromKind, args: &[ScanArg]) {
        self.select.from.push(From { alias, kind });
        for (column, arg) in args.iter().enumerate() {
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
                let column = needed.iter().position(|kept| *kept == expr)?;
                Some(Expr::Column { alias: from.alias, column })
            });
        }
    }

    /// Adds a clause's goals, with the clause's head met with the caller's terms.
    pub(super) fn inline(&mut self, clause: &Clause, args: &[Term]) {
        let mut names: Vec<Option<Term>> = vec![None; clause.var_names.len()];
        let mut equal = Vec::new();
        for (head, arg) in clause.head.iter().zip(args) {
            match head {
                Term::Var(var) => match names.get_mut(var.index()) {
                    Some(slot @ None) => {
                        *slot =
                            Some(if *arg == Term::Ignored { self.fresh(&VarName::UNNAMED) } else { *arg });
                    }
                    Some(Some(known)) => equal.push((*known, *arg)),
                    None => {}
                },
                other => equal.push((*other, *arg)),
            }
        }
        for (index, name) in clause.var_names.iter().enumerate() {
            if let Some(slot @ None) = names.get_mut(index) {
                *slot = Some(self.fresh(name));
            }
        }
        for (left, right) in equal {
            if right != Term::Ignored {
                self.goals.push(Goal::Compare { op: CompareOp::Equal, left, right });
            }
        }
        for goal in &clause.goals {
            let mut goal = goal.clone();
            goal.for_each_term_mut(&mut |term| {
                if let Term::Var(var) = *term
                    && let Some(Some(renamed)) = names.get(var.index())
                {
                    *term = *renamed;
                }
            });
            self.goals.push(goal);
        }
        self.rule = clause.rule.or(self.rule);
    }

    /// A build inside this one: the same variables, no sources, one positive goal and its guards. The
    /// goal's local variables become variables of the inner build.
    pub(super) fn inner(&self, goal: &Goal) -> Self {
        let mut inner = Self {
            goals: Vec::new(),
            n_split: 1,
            rule: self.rule,
            output: Vec::new(),
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
                let known = locals.iter().find(|(local, _)| local == term).map(|(_, fresh)| *fresh);
                let fresh = known.unwrap_or_else(|| inner.fresh(&VarName::UNNAMED));
                locals.push((*term, fresh));
                *term = fresh;
            }
        });
        inner.goals.push(goal);
        inner
    }
}
