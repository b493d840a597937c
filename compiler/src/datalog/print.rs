//! A question's Datalog program as text, for `explain` and snapshots. Deterministic.

use super::graph::StrongComponent;
use super::{Adornment, Clause, Goal, Output, RelId, Relation, ScanArg, Specialised, Term, constant};
use crate::catalog::{Catalog, RelationSource, SourceId};
use crate::id_vec::IdVec;
use crate::ir::{ConstId, Constant, Polarity, PredId, Program, QuestionVarId, TypeId};
use crate::question::{QuestionVar, Slot};
use crate::refusal::VarName;
use indexmap::IndexSet;
use std::fmt::Write;

/// What the printers need to name things.
#[derive(Clone, Copy)]
pub(crate) struct Names<'n> {
    pub(crate) program: &'n Program,
    pub(crate) catalog: &'n Catalog,
    pub(crate) extra_constants: &'n IndexSet<Constant>,
    /// The question's variables, for its relations; a plan names none of them.
    pub(crate) question_vars: &'n IdVec<QuestionVarId, QuestionVar>,
}

/// The name of a relation with what is known of each position: `has_role(User, "reader", Repo)`.
///
/// `Type?` is only tested there, `Type*` unconstrained.
pub(crate) fn heading(program: &Program, pred: PredId, adornments: &[Adornment]) -> String {
    // A type that the policy does not mention has no name here.
    let ty = |ty: Option<TypeId>| ty.and_then(|ty| program.types.find(ty)?.named()).unwrap_or("_").to_owned();
    let args = adornments.iter().map(|adornment| match *adornment {
        Adornment::Literal(literal) => {
            let held = program.constants.get_index(literal.index());
            held.map_or("_".to_owned(), |held| format!("{:?}", held.text))
        }
        Adornment::Column(column) => ty(Some(column)),
        Adornment::Tested(tested) => format!("{}?", ty(tested)),
        Adornment::Same { position, ty: tested } => format!("{}={}", ty(tested), position.index()),
        Adornment::Unconstrained(open) => format!("{}*", ty(open)),
    });
    format!("{}({})", program.predicate(pred).name, args.collect::<Vec<_>>().join(", "))
}

impl Names<'_> {
    /// The relations of a question with their clauses, then the question's alternatives.
    pub(crate) fn specialised(&self, program: &Specialised) -> String {
        let mut text = String::new();
        for (rel, relation) in program.relations.enumerate() {
            if relation.clauses.is_empty() {
                continue;
            }
            let _ = writeln!(text, "{rel:?} {}", self.heading(relation));
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
    pub(crate) fn strata(&self, program: &Specialised, components: &[StrongComponent]) -> String {
        let mut text = String::new();
        for (index, component) in components.iter().enumerate() {
            let members = component.nodes.iter().map(|node| &program.relations[RelId::from_index(*node)]);
            let members: Vec<String> = members.map(|relation| self.heading(relation)).collect();
            let kind = if component.recursive { "   (recursive)" } else { "" };
            let _ = writeln!(text, "stratum {index}: {}{kind}", members.join(", "));
        }
        text
    }

    fn heading(&self, relation: &Relation) -> String {
        heading(self.program, relation.pred, &relation.adornments)
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
            Goal::Values { slot, term } => format!("{} in {slot}", self.term(clause, *term)),
            Goal::Compare { op, left, right } => {
                format!("{} {op} {}", self.term(clause, *left), self.term(clause, *right))
            }
        }
    }

    fn term(&self, clause: &Clause, term: Term) -> String {
        match term {
            Term::Var(var) => {
                let name = match &clause.var_names[var] {
                    VarName::OfQuestion(var) => {
                        self.question_vars.find(*var).map_or("", |var| var.name.as_str())
                    }
                    VarName::Written(name) => name,
                    VarName::Made(name) => name,
                };
                format!("{name}_{}", var.0)
            }
            Term::Const(literal) => self.literal(literal),
            Term::Given(var) => format!("given#{}", var.index()),
            Term::Now => "@current_unix_time".to_owned(),
            Term::Local(var) => format!("some_{}", var.0),
            Term::Ignored => "_".to_owned(),
        }
    }

    pub(crate) fn literal(&self, literal: ConstId) -> String {
        constant(self.program, self.extra_constants, literal)
            .map_or("_".to_owned(), |held| format!("{:?}", held.text))
    }

    pub(crate) fn source(&self, source: SourceId) -> String {
        match &self.catalog.relations[source].source {
            RelationSource::Table { schema: None, name } => name.clone(),
            RelationSource::Table { schema: Some(schema), name } => format!("{schema}.{name}"),
            RelationSource::Context { slot } => Slot::Context(*slot).to_string(),
            RelationSource::Bound { binding, .. } => format!("{binding:?}"),
        }
    }
}
