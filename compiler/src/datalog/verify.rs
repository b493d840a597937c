//! Checks a question's Datalog program between the passes that rewrite it.
//!
//! In: a program, and the policy and the catalog that it refers to. Out: nothing, or a fault in words, which
//! is a bug in Portcullis. Checked is the INVARIANT of the [module](super), in time linear in the program:
//! what a clause names exists, what it reads has as many columns as it takes, a variable has one type where
//! it is enumerated, and a variable that is local to a negated goal occurs nowhere else. Whether something
//! binds each variable is not checked here: the planner refuses what nothing binds.

use super::{Adornment, Clause, Goal, Relation, ScanArg, Specialised, Term, constant};
use crate::catalog::Catalog;
use crate::ir::{ConstId, Polarity, Program, TypeId, VarId};
use rustc_hash::FxHashMap;

/// Finds a fault of a question's program, each of whose alternatives answers with `n_outputs` values.
///
/// # Errors
/// What is wrong, and where.
pub(crate) fn check(
    policy: &Program,
    catalog: &Catalog,
    program: &Specialised,
    n_outputs: usize,
) -> Result<(), String> {
    let verifier = ProgramVerifier { policy, catalog, program };
    for (rel, relation) in program.relations.enumerate() {
        for (at, clause) in relation.clauses.iter().enumerate() {
            let fault = |fault| format!("clause {at} of {rel:?} {fault}");
            verifier.clause_of(relation, clause).map_err(fault)?;
        }
    }
    for (at, root) in program.roots.iter().enumerate() {
        let fault = |fault| format!("alternative {at} of the question {fault}");
        if root.outputs.len() != n_outputs {
            return Err(fault("answers with another number of values".into()));
        }
        let mut types = VariableTypes::default();
        for output in &root.outputs {
            if let Some(term) = output.term() {
                verifier.term(&root.clause, term).map_err(fault)?;
                types.note(term, output.ty()).map_err(fault)?;
            }
        }
        verifier.clause(&root.clause, types).map_err(fault)?;
    }
    Ok(())
}

/// What a clause may refer to.
struct ProgramVerifier<'c> {
    policy: &'c Program,
    catalog: &'c Catalog,
    program: &'c Specialised,
}

impl ProgramVerifier<'_> {
    /// A clause of a relation.
    fn clause_of(&self, relation: &Relation, clause: &Clause) -> Result<(), String> {
        if clause.head.len() != relation.n_columns() {
            return Err("has another number of columns than its relation".into());
        }
        let mut types = VariableTypes::default();
        for (term, ty) in clause.head.iter().zip(column_types(relation)) {
            self.term(clause, *term)?;
            types.note(*term, ty)?;
        }
        self.clause(clause, types)
    }

    /// The goals of a clause; the types of its head's variables are known.
    fn clause(&self, clause: &Clause, mut types: VariableTypes) -> Result<(), String> {
        for goal in &clause.goals {
            self.goal(goal, &mut types)?;
            let mut checked = Ok(());
            goal.for_each_term(&mut |term| {
                if checked.is_ok() {
                    checked = match term {
                        Term::Local(_) if !goal.is_negated() => {
                            Err("has a variable of a negated goal elsewhere".into())
                        }
                        _ => self.term(clause, term),
                    };
                }
            });
            checked?;
        }
        if clause.head.iter().any(|term| matches!(term, Term::Local(_) | Term::Ignored)) {
            return Err("has a column that no goal gives a value".into());
        }
        Ok(())
    }

    /// What a goal reads, and the types that it gives to variables.
    fn goal(&self, goal: &Goal, types: &mut VariableTypes) -> Result<(), String> {
        match goal {
            Goal::Scan { source, args, .. } => {
                let Some(relation) = self.catalog.relations.find(*source) else {
                    return Err(format!("scans {source:?}, which is not in the catalog"));
                };
                if relation.columns().count() != args.len() {
                    return Err(format!("scans {source:?} with another number of columns"));
                }
                for (arg, (ty, _)) in args.iter().zip(relation.columns()) {
                    match arg {
                        ScanArg::Term(term) => types.note(*term, self.policy.type_id(ty))?,
                        ScanArg::OneOf(literals) => self.one_of(literals)?,
                    }
                }
            }
            Goal::Call { rel, args, .. } => {
                let Some(relation) = self.program.relations.find(*rel) else {
                    return Err(format!("calls {rel:?}, which is not in the program"));
                };
                if relation.n_columns() != args.len() {
                    return Err(format!("calls {rel:?} with another number of columns"));
                }
                for (arg, ty) in args.iter().zip(column_types(relation)) {
                    types.note(*arg, ty)?;
                }
            }
            Goal::Values { .. } | Goal::Compare { .. } => {}
        }
        if !goal.guards().is_empty() && !goal.is_negated() {
            return Err("has a condition on a goal that is not negated".into());
        }
        goal.guards().iter().try_for_each(|(_, literal)| self.literal(*literal))
    }

    /// Two literals or more, ascending.
    fn one_of(&self, literals: &[ConstId]) -> Result<(), String> {
        if literals.len() < 2 || !literals.is_sorted_by(|one, next| one < next) {
            return Err("tests a column for literals that are not two or more, ascending".into());
        }
        literals.iter().try_for_each(|literal| self.literal(*literal))
    }

    /// A term of a clause.
    fn term(&self, clause: &Clause, term: Term) -> Result<(), String> {
        match term {
            Term::Var(var) if clause.var_names.find(var).is_none() => {
                Err(format!("has the variable {var:?}, which has no name"))
            }
            Term::Const(literal) => self.literal(literal),
            Term::Var(_) | Term::Local(_) | Term::Given(_) | Term::Now | Term::Ignored => Ok(()),
        }
    }

    /// A literal of the policy or the catalog.
    fn literal(&self, literal: ConstId) -> Result<(), String> {
        match constant(self.policy, &self.program.extra_constants, literal) {
            Some(_) => Ok(()),
            None => Err(format!("has {literal:?}, which is neither the policy's nor the catalog's")),
        }
    }
}

/// The type of each column of a relation that enumerates its values; `None` where they are only tested, as in
/// one relation for all types that a rule treats alike.
fn column_types(relation: &Relation) -> impl Iterator<Item = Option<TypeId>> {
    relation.adornments.iter().filter_map(|adornment| match *adornment {
        Adornment::Column(ty) => Some(Some(ty)),
        Adornment::Tested(_) | Adornment::Same { .. } => Some(None),
        Adornment::Literal(_) | Adornment::Unconstrained(_) => None,
    })
}

impl Goal {
    /// Whether no row or tuple may exist.
    fn is_negated(&self) -> bool {
        match self {
            Self::Scan { polarity, .. } | Self::Call { polarity, .. } => *polarity == Polarity::Negated,
            Self::Values { .. } | Self::Compare { .. } => false,
        }
    }

    /// Its conditions on itself.
    fn guards(&self) -> &[(Term, ConstId)] {
        match self {
            Self::Scan { guards, .. } | Self::Call { guards, .. } => guards,
            Self::Values { .. } | Self::Compare { .. } => &[],
        }
    }
}

/// The types of a clause's variables.
#[derive(Default)]
struct VariableTypes(FxHashMap<VarId, TypeId>);

impl VariableTypes {
    /// Notes the type of a term, if it is a variable of more than one goal.
    fn note(&mut self, term: Term, ty: Option<TypeId>) -> Result<(), String> {
        let (Term::Var(var), Some(ty)) = (term, ty) else { return Ok(()) };
        if *self.0.entry(var).or_insert(ty) != ty {
            return Err(format!("has the variable {var:?} of two types"));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::catalog::{RelationArg, RelationSource, SourceId};
    use crate::datalog::{Output, RelId, Root};
    use crate::deadline::Deadline;
    use crate::id_vec::IdVec;
    use crate::ir::CompareOp;
    use crate::question::{Question, QuestionVar, Shape};
    use crate::source::SourceMap;
    use crate::specialise::specialise;

    const POLICY: &str = r#"
actor User {}
resource Doc { permissions = ["read"]; }
declare owner(User, Doc);
declare locked(Doc);
mine(u: User, d: Doc) if owner(u, d) and not locked(d);
allow(u: User, "read", d: Doc) if mine(u, d);
"#;

    /// Makes a fault.
    type Change = fn(&mut Specialised);

    fn catalog() -> Catalog {
        let arg = |ty: &&str| RelationArg::Column { ty: (*ty).into(), column: "c".into() };
        let relation = |predicate: &str, types: &[&str]| crate::catalog::Relation {
            predicate: predicate.into(),
            args: types.iter().map(arg).collect(),
            source: RelationSource::Table { schema: None, name: predicate.into() },
        };
        Catalog { relations: vec![relation("owner", &["User", "Doc"]), relation("locked", &["Doc"])].into() }
    }

    /// What the check says about the program of *which documents may ada read*, after a change.
    fn check_after(change: Change) -> Result<(), String> {
        let policy = crate::check(&SourceMap::new("policy.polar", POLICY)).program.unwrap();
        let catalog = catalog();
        let question = Question::atom(
            "allow",
            vec![
                QuestionVar::given("actor", "User", "ada"),
                QuestionVar::given("action", "String", "read"),
                QuestionVar::wanted("resource", Some("Doc")),
            ],
        );
        let mut program =
            specialise(&policy, &catalog, &Shape::of(&policy, &question), Deadline::NEVER).unwrap();
        change(&mut program);
        check(&policy, &catalog, &program, 1)
    }

    /// The clause that scans both relations, in which all faults are made.
    fn scans(program: &mut Specialised) -> &mut Clause {
        let mut clauses = program.relations.iter_mut().flat_map(|relation| &mut relation.clauses);
        clauses.find(|clause| clause.goals.len() == 2).unwrap()
    }

    fn root(program: &mut Specialised) -> &mut Root {
        program.roots.first_mut().unwrap()
    }

    /// The arguments of the scans of a polarity.
    fn args_of(clause: &mut Clause, of: Polarity) -> &mut Vec<ScanArg> {
        let args = clause.goals.iter_mut().find_map(|goal| match goal {
            Goal::Scan { polarity, args, .. } if *polarity == of => Some(args),
            Goal::Scan { .. } | Goal::Call { .. } | Goal::Values { .. } | Goal::Compare { .. } => None,
        });
        args.unwrap()
    }

    #[test]
    fn a_specialised_program_is_sound() {
        assert_eq!(check_after(|_| {}), Ok(()));
    }

    #[test]
    fn each_fault_is_found() {
        let faults: &[(&str, Change)] = &[
            ("another number of columns than its relation", |program| {
                scans(program).head.pop();
            }),
            ("answers with another number of values", |program| root(program).outputs.clear()),
            ("not in the catalog", |program| {
                for goal in &mut scans(program).goals {
                    if let Goal::Scan { source, .. } = goal {
                        *source = SourceId(9);
                    }
                }
            }),
            ("with another number of columns", |program| {
                args_of(scans(program), Polarity::Positive).pop();
            }),
            ("not in the program", |program| {
                for goal in &mut root(program).clause.goals {
                    if let Goal::Call { rel, .. } = goal {
                        *rel = RelId(99);
                    }
                }
            }),
            ("of two types", |program| args_of(scans(program), Polarity::Positive).reverse()),
            ("two or more, ascending", |program| {
                *args_of(scans(program), Polarity::Negated) = vec![ScanArg::OneOf(vec![ConstId(0)])];
            }),
            ("neither the policy's nor the catalog's", |program| {
                *args_of(scans(program), Polarity::Negated) = vec![ScanArg::Term(Term::Const(ConstId(999)))];
            }),
            ("has no name", |program| scans(program).var_names = IdVec::new()),
            ("no goal gives a value", |program| scans(program).head.fill(Term::Ignored)),
            ("a variable of a negated goal elsewhere", |program| {
                let clause = scans(program);
                let local = Term::Local(VarId(99));
                *args_of(clause, Polarity::Negated) = vec![ScanArg::Term(local)];
                clause.goals.push(Goal::Compare { op: CompareOp::Equal, left: local, right: local });
            }),
            ("a condition on a goal that is not negated", |program| {
                for goal in &mut scans(program).goals {
                    if let Goal::Scan { guards, .. } = goal {
                        guards.push((Term::Now, ConstId(0)));
                    }
                }
            }),
            ("of two types", |program| {
                for output in &mut root(program).outputs {
                    if let Output::Term(_, ty) = output {
                        *ty = TypeId(0);
                    }
                }
            }),
        ];
        for (expected, change) in faults {
            let found = check_after(*change).expect_err(expected);
            assert!(found.contains(expected), "{expected}: {found}");
        }
    }
}
