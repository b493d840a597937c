//! The judge of explanations, which knows the policy, the facts and the oracle, and nothing of how they were
//! found.
//!
//! If the question holds, every leaf is a fact that exists, every other step an instance of its rule, every
//! negation true, and the height is the least one. If it does not, each attempt is an instance of its rule,
//! with conditions that hold and one that does not.

mod failure;

use super::notation::{Cell, Fact, Value};
use super::oracle::Oracle;
use portcullis::engine::{FactOrigin, Verdict, Why, WhyAtom, WhyBy, WhyCondition, WhyStep};
use portcullis_compiler::ir::{
    CompareOp, ConstId, Literal, LiteralKind, Polarity, Program, Rule, Term, TypeId, VarType,
};
use portcullis_compiler::question::{Domain, Question, QuestionVarId};

/// What explanations are held against.
pub struct Judge<'j> {
    /// The policy.
    pub program: &'j Program,
    /// What holds under it.
    pub oracle: &'j Oracle<'j>,
    /// The stored facts.
    pub stored: &'j [Fact],
    /// Those of the request.
    pub context: &'j [Fact],
    /// Those of a caller's database.
    pub bound: &'j [Fact],
    /// The time of the oracle, which may have gone on since.
    pub now: i64,
}

/// The values of a rule's variables, as far as they are known.
type Env = Vec<Option<Cell>>;

impl Judge<'_> {
    /// Fails with what is wrong with an explanation.
    pub fn judge(&self, question: &Question, why: &Why) -> Result<(), String> {
        let height = self.oracle.height(question);
        if why.allowed != height.is_some() {
            return Err(format!("allowed: {}", why.allowed));
        }
        for (id, step) in why.explanation.steps.enumerate() {
            self.step(why, step).map_err(|wrong| format!("{id:?}: {wrong}"))?;
        }
        match why.explanation.verdict {
            Verdict::Unknown if why.explanation.truncated => Ok(()),
            Verdict::Unknown => Err("nothing is known, and nothing was cut".to_owned()),
            Verdict::Holds => proof(question, why, height),
            Verdict::Fails => self.failure(question, why),
        }
    }

    /// A fact that exists, or an instance of a rule.
    fn step(&self, why: &Why, step: &WhyStep) -> Result<(), String> {
        let WhyStep { atom, height, by } = step;
        let (n_atoms, heights) = self.oracle.heights_of(&atom.predicate, &cells(atom));
        if heights.len() < n_atoms {
            return Err(format!("{atom} does not hold of every value"));
        }
        if let Some(found) = heights.iter().find(|found| *found > height) {
            return Err(format!("{atom} has height {found}, not {height}"));
        }
        match by {
            WhyBy::Fact(origin) => {
                let facts = match origin {
                    FactOrigin::Stored => self.stored,
                    FactOrigin::Context => self.context,
                    FactOrigin::Bound(_) => self.bound,
                };
                let is_it = |fact: &Fact| {
                    let values: Vec<Cell> = fact.args.iter().cloned().map(Cell::Value).collect();
                    fact.predicate == atom.predicate && values == cells(atom)
                };
                if *height == 0 && facts.iter().any(is_it) {
                    Ok(())
                } else {
                    Err(format!("{atom} is not such a fact"))
                }
            }
            WhyBy::Rule(instance) => {
                let rule = &self.program.rules[instance.rule];
                let used = self.instance(why, rule, atom, &instance.conditions)?;
                if *height == 1 + used { Ok(()) } else { Err(format!("height {height} over {used}")) }
            }
        }
    }

    /// Checks that conditions are those of a rule with the values of its head; returns the height of the
    /// highest.
    fn instance(
        &self,
        why: &Why,
        rule: &Rule,
        head: &WhyAtom,
        conditions: &[WhyCondition],
    ) -> Result<usize, String> {
        let mut env: Env = vec![None; rule.vars.len()];
        if self.name(rule.head.index()) != head.predicate || conditions.len() != rule.body.len() {
            return Err(format!("{head} is not derived by this rule"));
        }
        self.unify(rule, &mut env, &rule.params, &cells(head))?;
        let mut highest = 0;
        let pairs = || rule.body.iter().zip(conditions);
        for (literal, condition) in pairs() {
            if let LiteralKind::Atom { polarity: Polarity::Positive, pred, args } = &literal.kind {
                let WhyCondition::Step(used) = condition else {
                    return Err("a condition without a step".into());
                };
                let used = &why.explanation.steps[*used];
                if self.name(pred.index()) != used.atom.predicate {
                    return Err(format!("{} is not {}", used.atom, self.name(pred.index())));
                }
                self.unify(rule, &mut env, args, &cells(&used.atom))?;
                highest = highest.max(used.height);
            }
        }
        while self.equate(rule, &mut env) {}
        for (literal, condition) in pairs() {
            self.test(rule, &env, literal, condition)?;
        }
        Ok(highest)
    }

    /// Gives the variables the values of an atom, which must agree. A wildcard says nothing but its type.
    fn unify(&self, rule: &Rule, env: &mut Env, terms: &[Term], cells: &[Cell]) -> Result<(), String> {
        for (term, cell) in terms.iter().zip(cells) {
            let known = self.value(env, *term);
            match (term, known) {
                (_, Some(known)) if cell.covers(&known) => {}
                (_, Some(known)) => return Err(format!("{known:?} became {cell:?}")),
                (Term::Var(var), None) if matches!(cell, Cell::Value(_)) => {
                    if !self.admits(&rule.vars[*var].ty, cell) {
                        return Err(format!("{cell:?} is not of the variable's type"));
                    }
                    env[var.index()] = Some(cell.clone());
                }
                (_, None) => {}
            }
        }
        Ok(())
    }

    /// Lets `=` give a value to a variable that has none; whether one got one.
    fn equate(&self, rule: &Rule, env: &mut Env) -> bool {
        for literal in &rule.body {
            let LiteralKind::Compare { op: CompareOp::Equal, left, right } = &literal.kind else { continue };
            match (*left, self.value(env, *left), *right, self.value(env, *right)) {
                (Term::Var(var), None, _, Some(value)) | (_, Some(value), Term::Var(var), None) => {
                    env[var.index()] = Some(value);
                    return true;
                }
                _ => {}
            }
        }
        false
    }

    fn test(
        &self,
        rule: &Rule,
        env: &Env,
        literal: &Literal,
        condition: &WhyCondition,
    ) -> Result<(), String> {
        let is_true = match &literal.kind {
            LiteralKind::Atom { polarity: Polarity::Positive, .. } => true,
            LiteralKind::Atom { polarity: Polarity::Negated, pred, args } => {
                let open = |term: &Term| matches!(term, Term::Var(_)) && self.value(env, *term).is_none();
                // A value that several conditions test, and nothing gives, is any new one.
                let is_new = args.iter().any(|arg| open(arg) && n_uses(rule, *arg) > 1);
                let looked: Vec<Cell> =
                    args.iter().map(|arg| self.value(env, *arg).unwrap_or(Cell::Any)).collect();
                // That `p(y, y)` is absent does not mean that `p(_, _)` is.
                let repeats = args.iter().enumerate().any(|(at, arg)| open(arg) && args[..at].contains(arg));
                let atom = match condition {
                    WhyCondition::Test(text) if is_new || repeats => {
                        let names_it = text.starts_with(&format!("not {}(", self.name(pred.index())));
                        let names_new = !is_new || text.ends_with(" that no fact names");
                        return if names_it && names_new {
                            Ok(())
                        } else {
                            Err(format!("{text:?} of a negation"))
                        };
                    }
                    WhyCondition::Absent(atom) if !is_new && !repeats => atom,
                    other => return Err(format!("{other:?} of a negation")),
                };
                let (_, heights) = self.oracle.heights_of(&self.name(pred.index()), &looked);
                let shown = cells(atom)
                    .iter()
                    .zip(&looked)
                    .all(|(shown, looked)| shown.covers(looked) || looked.covers(shown));
                shown && heights.is_empty()
            }
            LiteralKind::Compare { .. }
            | LiteralKind::OneOf { .. }
            | LiteralKind::NotOfType { .. }
            | LiteralKind::False => self.truth(env, literal).unwrap_or(true),
        };
        if is_true { Ok(()) } else { Err(format!("a condition does not hold: {condition:?}")) }
    }

    /// Whether a condition that is not a predicate holds; `None` if a value is not known.
    fn truth(&self, env: &Env, literal: &Literal) -> Option<bool> {
        match &literal.kind {
            LiteralKind::Compare { op, left, right } => {
                Some(compare(*op, &self.value(env, *left)?, &self.value(env, *right)?))
            }
            LiteralKind::OneOf { polarity, term, values } => {
                let value = self.value(env, *term)?;
                let is_listed = values.iter().any(|known| self.constant(*known) == value);
                Some(is_listed == (*polarity == Polarity::Positive))
            }
            LiteralKind::NotOfType { var, types } => {
                let value = env[var.index()].as_ref()?;
                Some(!self.admits(&VarType::OneOf(types.clone()), value))
            }
            LiteralKind::False => Some(false),
            LiteralKind::Atom { .. } => None,
        }
    }

    /// Whether some values of the wildcards make it hold.
    fn holds(&self, atom: &WhyAtom) -> bool {
        !self.oracle.heights_of(&atom.predicate, &cells(atom)).1.is_empty()
    }

    fn name(&self, pred: usize) -> String {
        self.program.predicates[pred].name.clone()
    }

    fn value(&self, env: &Env, term: Term) -> Option<Cell> {
        match term {
            Term::Var(var) => env[var.index()].clone(),
            Term::Const(literal) => Some(self.constant(literal)),
            Term::Now => Some(Cell::Value(Value::new("Integer", &self.now.to_string()))),
        }
    }

    fn constant(&self, literal: ConstId) -> Cell {
        let held = &self.program.constants[literal.index()];
        Cell::Value(Value::new(self.type_name(held.ty), &held.text))
    }

    fn type_name(&self, ty: TypeId) -> &str {
        &self.program.types[ty].name
    }

    fn admits(&self, ty: &VarType, cell: &Cell) -> bool {
        match (ty, cell) {
            (VarType::Any, _) | (_, Cell::Any | Cell::AnyOf(_)) => true,
            (VarType::OneOf(types), Cell::Value(value)) => {
                types.iter().any(|ty| self.type_name(*ty) == value.ty)
            }
        }
    }
}

/// Whether an argument of an atom is a wildcard.
fn is_open(atom: &WhyAtom) -> bool {
    atom.args.iter().any(|arg| arg.id.is_none())
}

/// Whether less fails than the atom of a question of one predicate says.
fn narrows(question: &Question) -> bool {
    let is_list = |var: &QuestionVarId| matches!(question.vars[*var].domain, Domain::GivenOneOf(_));
    question.atoms.iter().any(|atom| {
        let repeats = (1..atom.args.len()).any(|at| atom.args[..at].contains(&atom.args[at]));
        repeats || atom.args.iter().any(is_list)
    })
}

/// A proof of each predicate that is asked, of the least height.
fn proof(question: &Question, why: &Why, least: Option<usize>) -> Result<(), String> {
    let steps: Vec<&WhyStep> =
        why.explanation.proof.iter().map(|&step| &why.explanation.steps[step]).collect();
    if steps.len() != question.atoms.len() {
        return Err(format!("{} proofs of {} predicates", steps.len(), question.atoms.len()));
    }
    for (atom, step) in question.atoms.iter().zip(&steps) {
        let asked: Vec<Cell> = atom.args.iter().map(|&var| asked(question, var)).collect();
        let is_it = cells(&step.atom)
            .iter()
            .zip(&asked)
            .all(|(cell, asked)| cell.covers(asked) || asked.covers(cell));
        if step.atom.predicate != atom.predicate || !is_it {
            return Err(format!("{} is proved instead of {}", step.atom, atom.predicate));
        }
    }
    let height = steps.iter().map(|step| step.height).max();
    if why.explanation.truncated || height == least {
        return Ok(());
    }
    Err(format!("the height is {height:?}, the least one {least:?}"))
}

fn cells(atom: &WhyAtom) -> Vec<Cell> {
    let cell = |(ty, id): (&Option<String>, &Option<String>)| match (ty, id) {
        (Some(ty), Some(id)) => Cell::Value(Value::new(ty, id)),
        (Some(ty), None) => Cell::AnyOf(ty.clone()),
        (None, _) => Cell::Any,
    };
    atom.args.iter().map(|arg| cell((&arg.ty, &arg.id))).collect()
}

/// What the question says of a variable.
fn asked(question: &Question, var: QuestionVarId) -> Cell {
    let var = &question.vars[var];
    match (super::outcome::given(var), &var.ty) {
        (Some(value), _) => Cell::Value(value),
        (None, Some(ty)) => Cell::AnyOf(ty.clone()),
        (None, None) => Cell::Any,
    }
}

/// In how many of a rule's conditions and parameters a term occurs.
fn n_uses(rule: &Rule, term: Term) -> usize {
    let stands = |literal: &&Literal| match &literal.kind {
        LiteralKind::Atom { args, .. } => args.contains(&term),
        LiteralKind::Compare { left, right, .. } => [*left, *right].contains(&term),
        LiteralKind::OneOf { term: tested, .. } => *tested == term,
        LiteralKind::NotOfType { var, .. } => Term::Var(*var) == term,
        LiteralKind::False => false,
    };
    rule.body.iter().filter(stands).count() + usize::from(rule.params.contains(&term))
}

fn compare(op: CompareOp, left: &Cell, right: &Cell) -> bool {
    let number = |cell: &Cell| match cell {
        Cell::Value(value) => value.integer(),
        Cell::AnyOf(_) | Cell::Any => None,
    };
    let numbers = number(left).zip(number(right));
    match op {
        CompareOp::Equal => left == right,
        CompareOp::NotEqual => left != right,
        CompareOp::Less => numbers.is_some_and(|(left, right)| left < right),
        CompareOp::LessOrEqual => numbers.is_some_and(|(left, right)| left <= right),
        CompareOp::Greater => numbers.is_some_and(|(left, right)| left > right),
        CompareOp::GreaterOrEqual => numbers.is_some_and(|(left, right)| left >= right),
    }
}
