//! Specialised programs and plans as text, for `explain` and snapshots. Deterministic.

use super::algebra::{Condition, Expr, FromKind, Plan, PlanAnswer, Select, TableBody};
use crate::catalog::{Catalog, RelationSource};
use crate::ir::{CompareOp, ConstId, Constant, Polarity, Program, TypeId};
use crate::question::{QuestionVar, Slot};
use crate::refusal::VarName;
use crate::specialise::clause::{
    Adornment, Clause, Goal, Output, RelId, Relation, ScanArg, Specialised, TableRef, Term, constant,
};
use crate::strata::graph::Component;
use indexmap::IndexSet;
use std::fmt::Write;

/// What the printers need to name things.
#[derive(Clone, Copy)]
pub(crate) struct Names<'n> {
    pub(crate) program: &'n Program,
    pub(crate) catalog: &'n Catalog,
    pub(crate) extra_constants: &'n IndexSet<Constant>,
    /// The question's variables, for its relations; a plan names none of them.
    pub(crate) asked: &'n [QuestionVar],
}

/// The name of a relation with what is known of each position: `has_role(User, "reader", Repo)`.
///
/// `Type?` is only tested there, `Type*` unconstrained.
pub(super) fn heading(program: &Program, relation: &Relation) -> String {
    let predicate = program.predicates.get_index(relation.pred.index());
    let ty = |ty: Option<TypeId>| match ty.and_then(|ty| program.types.get(ty.index())) {
        Some(ty) if !ty.name.is_empty() => ty.name.clone(),
        Some(_) | None => "_".to_owned(),
    };
    let args = relation.adornments.iter().map(|adornment| match *adornment {
        Adornment::Literal(literal) => {
            let held = program.constants.get_index(literal.index());
            held.map_or("_".to_owned(), |held| format!("{:?}", held.text))
        }
        Adornment::Column(column) => ty(Some(column)),
        Adornment::Tested(tested) => format!("{}?", ty(tested)),
        Adornment::Unconstrained(open) => format!("{}*", ty(open)),
    });
    let name = predicate.map_or("_", |predicate| predicate.name.as_str());
    format!("{name}({})", args.collect::<Vec<_>>().join(", "))
}

impl Names<'_> {
    /// The relations of a question with their clauses, then the question's alternatives.
    pub(crate) fn specialised(&self, program: &Specialised) -> String {
        let mut text = String::new();
        for (index, relation) in program.relations.iter().enumerate() {
            if relation.clauses.is_empty() {
                continue;
            }
            let _ = writeln!(text, "{:?} {}", RelId(index), heading(self.program, relation));
            for clause in &relation.clauses {
                let _ = writeln!(text, "    {}", self.clause(clause));
            }
        }
        for root in &program.roots {
            let outputs = root.outputs.iter().map(|output| match output {
                Output::Term(term, _) => self.term(&root.clause, *term),
                Output::Unconstrained(_) => "*".to_owned(),
            });
            let outputs: Vec<String> = outputs.collect();
            let _ = writeln!(text, "answer({}) {}", outputs.join(", "), self.clause(&root.clause));
        }
        text
    }

    /// The relations of a question in order of evaluation.
    pub(crate) fn strata(&self, program: &Specialised, components: &[Component]) -> String {
        let mut text = String::new();
        for (index, component) in components.iter().enumerate() {
            let members = component.nodes.iter().filter_map(|node| program.relation(RelId(*node)));
            let members: Vec<String> = members.map(|relation| heading(self.program, relation)).collect();
            let kind = if component.recursive { "   (recursive)" } else { "" };
            let _ = writeln!(text, "stratum {index}: {}{kind}", members.join(", "));
        }
        text
    }

    fn clause(&self, clause: &Clause) -> String {
        let head: Vec<String> = clause.head.iter().map(|term| self.term(clause, *term)).collect();
        let goals: Vec<String> = clause.goals.iter().map(|goal| self.goal(clause, goal)).collect();
        format!(
            "({}) :- {}",
            head.join(", "),
            if goals.is_empty() { "true".into() } else { goals.join(", ") }
        )
    }

    fn goal(&self, clause: &Clause, goal: &Goal) -> String {
        let not = |polarity: &Polarity| match polarity {
            Polarity::Positive => "",
            Polarity::Negated => "not ",
        };
        let terms =
            |args: &[Term]| args.iter().map(|term| self.term(clause, *term)).collect::<Vec<_>>().join(", ");
        let only_if = |guards: &[(Term, ConstId)]| {
            let guards = guards.iter().map(|(term, literal)| {
                format!(" if {} = {}", self.term(clause, *term), self.literal(*literal))
            });
            guards.collect::<String>()
        };
        match goal {
            Goal::Scan { polarity, source, args, guards } => {
                let args = args.iter().map(|arg| match arg {
                    ScanArg::Term(term) => self.term(clause, *term),
                    ScanArg::OneOf(literals) => {
                        let literals: Vec<String> =
                            literals.iter().map(|literal| self.literal(*literal)).collect();
                        format!("one of {}", literals.join(" "))
                    }
                });
                let args: Vec<String> = args.collect();
                format!("{}{}({}){}", not(polarity), self.source(*source), args.join(", "), only_if(guards))
            }
            Goal::Call { polarity, rel, args, guards } => {
                format!("{}{rel:?}({}){}", not(polarity), terms(args), only_if(guards))
            }
            Goal::Values { slot, term } => format!("{} in {slot:?}", self.term(clause, *term)),
            Goal::Compare { op, left, right } => {
                format!("{} {} {}", self.term(clause, *left), operator(*op), self.term(clause, *right))
            }
            Goal::Rows { table, args } => format!("{table:?}({})", terms(args)),
        }
    }

    fn term(&self, clause: &Clause, term: Term) -> String {
        match term {
            Term::Var(var) => {
                let name = match clause.var_names.get(var.index()) {
                    Some(VarName::Asked(var)) => self.asked.get(*var).map_or("", |var| var.name.as_str()),
                    Some(VarName::Written(name)) => name,
                    Some(VarName::Made(name)) => name,
                    None => "",
                };
                format!("{name}_{}", var.0)
            }
            Term::Const(literal) => self.literal(literal),
            Term::Given(var) => format!("given#{var}"),
            Term::Now => "@current_unix_time".to_owned(),
            Term::Tag(tag) => format!("tag#{tag}"),
            Term::Local(var) => format!("some_{}", var.0),
            Term::Ignored => "_".to_owned(),
        }
    }

    fn literal(&self, literal: ConstId) -> String {
        constant(self.program, self.extra_constants, literal)
            .map_or("_".to_owned(), |held| format!("{:?}", held.text))
    }

    fn source(&self, source: usize) -> String {
        match self.catalog.relations.get(source).map(|relation| &relation.source) {
            Some(RelationSource::Table { name }) => name.clone(),
            Some(RelationSource::Context { slot }) => format!("{:?}", Slot::Context(*slot)),
            Some(RelationSource::Bound { binding }) => format!("binding#{binding}"),
            None => "_".to_owned(),
        }
    }

    /// A plan: its tables in order, then the answer.
    pub(crate) fn plan(&self, plan: &Plan) -> String {
        let mut text = String::new();
        for table in &plan.tables {
            let _ = writeln!(text, "table {}: {}", table.name, table.comment);
            let (base, step, kind) = match &table.body {
                TableBody::Union(selects) => (selects, None, ""),
                TableBody::Recursive { base, step } => (base, Some(step), "step"),
                TableBody::WholeState { base, step } => (base, Some(step), "step on the whole state"),
            };
            base.iter().for_each(|select| self.select(&mut text, plan, select, "rows", 1));
            step.into_iter().flatten().for_each(|select| self.select(&mut text, plan, select, kind, 1));
        }
        if !plan.guard.is_unit() {
            self.select(&mut text, plan, &plan.guard, "only if", 0);
        }
        let (selects, kind) = match &plan.answer {
            PlanAnswer::Decision(selects) => (selects, "allowed if"),
            PlanAnswer::Rows { selects, .. } => (selects, "answer"),
        };
        selects.iter().for_each(|select| self.select(&mut text, plan, select, kind, 0));
        text
    }

    fn select(&self, text: &mut String, plan: &Plan, select: &Select, kind: &str, depth: usize) {
        let indent = "    ".repeat(depth);
        let output: Vec<String> = select.output.iter().map(|expr| self.expr(*expr)).collect();
        let from = select.from.iter().map(|from| {
            let name = match from.kind {
                FromKind::Source(source) => self.source(source),
                FromKind::Table(TableRef::Itself) => "itself".to_owned(),
                FromKind::Table(TableRef::Table(table)) => {
                    plan.tables.get(table).map_or("_".to_owned(), |table| table.name.clone())
                }
                FromKind::Values(slot) => format!("{slot:?}"),
                FromKind::Embedded(rows) => format!("embedded#{rows}"),
                FromKind::Row(source) => format!("the row of {}", self.source(source)),
            };
            format!("{name} t{}", from.alias)
        });
        let from: Vec<String> = from.collect();
        let _ = writeln!(
            text,
            "{indent}{kind} ({}) from {}",
            output.join(", "),
            if from.is_empty() { "nothing".into() } else { from.join(", ") }
        );
        for condition in &select.filter {
            match condition {
                Condition::Compare { op, left, right } => {
                    let _ = writeln!(
                        text,
                        "{indent}    where {} {} {}",
                        self.expr(*left),
                        operator(*op),
                        self.expr(*right)
                    );
                }
                Condition::OneOf { expr, literals } => {
                    let literals: Vec<String> =
                        literals.iter().map(|literal| self.literal(*literal)).collect();
                    let _ =
                        writeln!(text, "{indent}    where {} in {}", self.expr(*expr), literals.join(" "));
                }
                Condition::In { expr, selects } => {
                    let kind = format!("where {} in", self.expr(*expr));
                    selects.iter().for_each(|select| self.select(text, plan, select, &kind, depth + 1));
                }
                Condition::Any(branches) => {
                    branches
                        .iter()
                        .for_each(|branch| self.select(text, plan, branch, "or exists", depth + 1));
                }
                Condition::None(branches) => {
                    branches
                        .iter()
                        .for_each(|branch| self.select(text, plan, branch, "not exists", depth + 1));
                }
            }
        }
    }

    fn expr(&self, expr: Expr) -> String {
        match expr {
            Expr::Column { alias, column } => format!("t{alias}.{column}"),
            Expr::Const(literal) => self.literal(literal),
            Expr::Given(var) => format!("given#{var}"),
            Expr::Now => "@current_unix_time".to_owned(),
            Expr::Tag(tag) => format!("tag#{tag}"),
            Expr::TypeName(ty) => {
                self.program.types.get(ty.index()).map_or("_".to_owned(), |ty| ty.name.clone())
            }
            Expr::Unconstrained => "*".to_owned(),
        }
    }
}

fn operator(op: CompareOp) -> &'static str {
    match op {
        CompareOp::Equal => "=",
        CompareOp::NotEqual => "!=",
        CompareOp::Less => "<",
        CompareOp::LessOrEqual => "<=",
        CompareOp::Greater => ">",
        CompareOp::GreaterOrEqual => ">=",
    }
}
