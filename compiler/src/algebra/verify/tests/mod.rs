//! Plans with one fault each: the verifier finds it, and names the pass.

mod contradictions;
mod passes;

use super::{Keeps, Open, Verifier};
use crate::algebra::sample::{self, column, equal, given, read};
use crate::algebra::{
    Alias, AnswerColumns, Condition, EmbeddedId, Expr, From, FromKind, ITSELF, Plan, PlanAnswer, Range,
    Select, SetUse, Table, TableBody, TableId, TableRef,
};
use crate::catalog::{Catalog, SourceId};
use crate::check;
use crate::datalog::recursion::MemberId;
use crate::ir::{ConstId, Constant, Program, TypeId};
use crate::question::{AnswerColumn, CompileError, QuestionVarId, ShapeDomain, ShapeVar};
use crate::source::SourceMap;
use indexmap::IndexSet;

/// Makes a fault.
type Change = fn(&mut Plan);

const POLICY: &str = "actor User {} resource Doc { permissions = [\"read\"]; }";

/// `owner(User, Doc)` and `locked(Doc)`.
fn catalog() -> Catalog {
    sample::catalog(&[("owner", &["User", "Doc"]), ("locked", &["Doc"])])
}

const OWNER: FromKind = FromKind::Source(SourceId(0));
const LOCKED: FromKind = FromKind::Source(SourceId(1));
const TABLE: FromKind = FromKind::Table(TableRef::Table(TableId(0)));

/// The documents that the user of variable 0 owns and that are not locked, by way of a fixpoint.
fn sound() -> Plan {
    let base = read(&[(1, OWNER)], vec![equal(column(1, 0), given(0))], vec![column(1, 1)]);
    let step = read(&[(2, ITSELF), (3, OWNER)], vec![equal(column(3, 1), column(2, 0))], vec![column(3, 1)]);
    let body = TableBody::Recursive { base: vec![base], step: vec![step] };
    let table = Table::new("pc1".into(), String::new(), 1, body);
    let locked = read(&[(5, LOCKED)], vec![equal(column(5, 0), column(4, 0))], Vec::new());
    let answer = read(&[(4, TABLE)], vec![Condition::None(vec![locked])], vec![column(4, 0)]);
    let columns = AnswerColumns::OfQuestion(vec![AnswerColumn::Id(QuestionVarId(1))].into());
    Plan::new(vec![table], PlanAnswer::Rows { selects: vec![answer], columns, range: Range::All })
}

fn program() -> Program {
    check(&SourceMap::new("policy.polar", POLICY)).program.unwrap()
}

/// What the verifier says of the plan after it was changed.
fn fault(open: Open, change: impl FnOnce(&mut Plan)) -> Option<String> {
    fault_with_column(open, None, change)
}

fn fault_with_column(
    open: Open,
    column: Option<QuestionVarId>,
    change: impl FnOnce(&mut Plan),
) -> Option<String> {
    let (program, catalog) = (program(), catalog());
    let constants = IndexSet::from([Constant { ty: TypeId::INTEGER, text: "7".into() }]);
    let var = |ty: &str, domain| ShapeVar { ty: program.type_id(ty), domain };
    let vars = vec![var("User", ShapeDomain::Given), var("Doc", ShapeDomain::Wanted)].into();
    let verifier = Verifier { open, column, ..Verifier::of(&program, &catalog, &constants, &vars) };
    let mut plan = sound();
    change(&mut plan);
    match verifier.check("some pass", &plan) {
        Ok(()) => None,
        Err(CompileError::Bug(text)) => {
            assert!(text.starts_with("after the pass `some pass`: "), "{text}");
            Some(text)
        }
        Err(error @ (CompileError::Refused(_) | CompileError::OutOfTime(_))) => panic!("{error:?}"),
    }
}

fn answer(plan: &mut Plan) -> &mut Select {
    plan.answer.selects_mut().first_mut().unwrap()
}

fn table(plan: &mut Plan) -> (&mut Select, &mut Select) {
    match &mut plan.tables.first_mut().unwrap().body {
        TableBody::Recursive { base, step } => (base.first_mut().unwrap(), step.first_mut().unwrap()),
        TableBody::Union(_) | TableBody::WholeState { .. } => panic!("another plan"),
    }
}

#[test]
fn a_sound_plan_has_no_fault() {
    assert_eq!(fault(Open::Given, |_| ()), None);
}

#[test]
fn a_reference_to_nothing_is_found() {
    let literal = ConstId::from_index(program().constants.len() + 1);
    let wrong: [(&str, Change); 9] = [
        ("t4 has 1 columns, and no column 1", |plan| answer(plan).output = vec![column(4, 1)].into()),
        ("t9 is not in scope", |plan| answer(plan).output = vec![column(9, 0)].into()),
        // The source of a branch is not one of the select around it.
        ("t5 is not in scope", |plan| answer(plan).output = vec![column(5, 0)].into()),
        ("the table 3 is not made", |plan| answer(plan).from[0].kind = TableId(3).source()),
        ("the table 0 is not made", |plan| table(plan).0.from[0].kind = TABLE),
        ("no relation 7", |plan| table(plan).0.from[0].kind = FromKind::Source(SourceId::from_index(7))),
        ("no rows 0", |plan| answer(plan).from[0].kind = FromKind::Embedded(EmbeddedId(0))),
        ("no variable 5", |plan| table(plan).0.filter = vec![equal(column(1, 0), given(5))]),
        ("the variable 1 has no value", |plan| {
            table(plan).0.filter = vec![equal(column(1, 1), given(1))];
        }),
    ];
    for (expected, change) in wrong {
        assert!(fault(Open::Given, change).is_some_and(|fault| fault.contains(expected)), "{expected}");
    }
    let found =
        fault(Open::Given, |plan| answer(plan).filter.push(equal(column(4, 0), Expr::Const(literal))));
    assert!(found.is_some_and(|fault| fault.contains("no literal")));
}

#[test]
fn a_reference_to_something_else_is_found() {
    let wrong: [(&str, Change); 8] = [
        ("t4 is defined twice", |plan| {
            if let Some(Condition::None(branches)) = answer(plan).filter.first_mut() {
                branches[0].from[0].alias = Alias::of_number(4);
            }
        }),
        ("is of another type", |plan| table(plan).0.filter = vec![equal(column(1, 1), given(0))]),
        ("a table reads itself", |plan| answer(plan).from[0].kind = ITSELF),
        ("not linear", |plan| table(plan).1.from.push(From { alias: Alias::of_number(9), kind: ITSELF })),
        ("not linear", |plan| {
            let step = table(plan).1;
            step.from.remove(0);
            step.filter.clear();
        }),
        ("2 columns in place of 1", |plan| {
            table(plan).0.output.push(column(1, 0));
        }),
        ("an answer of 0 columns", |plan| answer(plan).output.clear()),
        ("a wildcard", |plan| answer(plan).filter = vec![equal(column(4, 0), Expr::Unconstrained)]),
    ];
    for (expected, change) in wrong {
        let found = fault(Open::Given, change);
        assert!(found.as_ref().is_some_and(|fault| fault.contains(expected)), "{expected}: {found:?}");
    }
    // Once values are in, none is left to come.
    let found = fault(Open::Nothing, |_| ());
    assert!(found.is_some_and(|fault| fault.contains("the variable 0 has no value")));
    assert_eq!(fault_with_column(Open::Nothing, Some(QuestionVarId(0)), |_| ()), None);
}

/// In a table of a component the types of a column depend on the member: a narrow one is padded, and the
/// values of one member may be compared with those of another, in rows that do not exist.
#[test]
fn a_column_of_several_members_has_any_type() {
    let tag = |member| Expr::Tag(MemberId::from_index(member));
    let of_another = |plan: &mut Plan| {
        let (base, step) = table(plan);
        base.output = vec![tag(0), column(1, 1), Expr::Filler].into();
        step.filter = vec![equal(column(3, 1), column(2, 1)), equal(column(2, 2), column(3, 0))];
        step.output = vec![tag(1), column(3, 1), column(2, 2)].into();
        plan.tables[0].n_columns = 3;
        let select = answer(plan);
        select.filter = vec![equal(column(4, 0), tag(1)), equal(column(4, 1), given(0))];
        select.output = vec![column(4, 1)].into();
    };
    assert_eq!(fault(Open::Given, of_another), None);
    let without_steps = |plan: &mut Plan| {
        of_another(plan);
        let base = table(plan).0.clone();
        plan.tables[0].body = TableBody::Union(vec![base]);
    };
    assert_eq!(fault(Open::Given, without_steps), None);
}

/// What a pass did, as far as its accounts say.
fn loss(keeps: Keeps, change: impl FnOnce(&mut Plan)) -> Option<String> {
    let before = sound();
    let mut after = sound();
    change(&mut after);
    super::accounts::check(keeps, &before, &after, &[]).err()
}

#[test]
fn a_lost_condition_is_found() {
    for keeps in [Keeps::Atoms, Keeps::Covering, Keeps::Once, Keeps::AllButImplied, Keeps::Equals] {
        assert_eq!(loss(keeps, |_| ()), None);
        let of_answer = loss(keeps, |plan| answer(plan).filter.clear());
        assert!(of_answer.is_some_and(|fault| fault.contains("a condition was lost")), "{keeps:?}");
        let of_table = loss(keeps, |plan| table(plan).0.filter.clear());
        assert!(of_table.is_some_and(|fault| fault.starts_with("pc1: a condition was lost")), "{keeps:?}");
        let of_branch = loss(keeps, |plan| {
            if let Some(Condition::None(branches)) = answer(plan).filter.first_mut() {
                branches[0].filter.push(equal(column(5, 0), column(5, 0)));
            }
        });
        // A value may be replaced by one that equals it, and then comparisons are only counted.
        assert_eq!(of_branch.is_some(), keeps != Keeps::Equals, "{keeps:?}: a negation that denies less");
    }
    let source = loss(Keeps::Relations, |plan| table(plan).1.from.truncate(1));
    assert!(source.is_some_and(|fault| fault.starts_with("pc1: a condition was lost")));
}

#[test]
fn a_lost_alternative_is_found() {
    for keeps in [Keeps::Atoms, Keeps::Covering, Keeps::Once, Keeps::AllButImplied] {
        let found = loss(keeps, |plan| answer(plan).filter.push(equal(column(4, 0), given(1))));
        assert!(found.is_some_and(|fault| fault.contains("an alternative was lost")), "{keeps:?}");
    }
    // What only adds conditions that hold anyway says so.
    let added = |plan: &mut Plan| answer(plan).filter.push(equal(column(4, 0), given(1)));
    assert_eq!(loss(Keeps::Equals, added), None);
    // But it must not leave one out.
    for keeps in [Keeps::Equals, Keeps::EqualsInSelects] {
        let found = loss(keeps, |plan| plan.answer.selects_mut().clear());
        assert!(found.is_some_and(|fault| fault.contains("an alternative was lost")), "{keeps:?}");
    }
}

#[test]
fn the_same_question_in_another_form_is_no_loss() {
    let joined = |plan: &mut Plan| {
        let select = answer(plan);
        select.from.push(From { alias: Alias::of_number(8), kind: OWNER });
        select.filter.push(equal(column(4, 0), column(8, 1)));
    };
    let tested = |plan: &mut Plan| {
        let branch = read(&[(8, OWNER)], vec![equal(column(8, 1), column(4, 0))], Vec::new());
        answer(plan).filter.push(Condition::Any(vec![branch]));
    };
    let in_set = |plan: &mut Plan| {
        let set = read(&[(8, OWNER)], Vec::new(), vec![column(8, 1)]);
        answer(plan).filter.push(Condition::In {
            expr: column(4, 0),
            selects: vec![set],
            used: SetUse::ToFind,
        });
    };
    let of = |change: &dyn Fn(&mut Plan)| {
        let mut plan = sound();
        change(&mut plan);
        plan
    };
    let forms = [of(&joined), of(&tested), of(&in_set)];
    for before in &forms {
        for after in &forms {
            assert_eq!(super::accounts::check(Keeps::Atoms, before, after, &[]), Ok(()));
        }
    }
}

#[test]
fn what_is_read_again_inside_a_negation_is_no_loss() {
    let again = |plan: &mut Plan| {
        if let Some(Condition::None(branches)) = answer(plan).filter.first_mut() {
            let branch = &mut branches[0];
            branch.from.push(From { alias: Alias::of_number(9), ..branch.from[0] });
            branch.filter.extend(branch.filter.clone());
        }
    };
    assert_eq!(loss(Keeps::Once, again), None);
    assert!(loss(Keeps::Atoms, again).is_some());
}

#[test]
fn a_denial_may_be_repeated_if_it_is_of_one_row() {
    let locked = |alias| {
        let of_it = equal(column(alias, 0), column(4, 0));
        Condition::None(vec![read(&[(alias, LOCKED)], vec![of_it], Vec::new())])
    };
    let of = |sources: &[usize]| {
        let mut plan = sound();
        let select = answer(&mut plan);
        select.from =
            sources.iter().map(|alias| From { alias: Alias::of_number(*alias), kind: OWNER }).collect();
        select.filter = vec![locked(9)];
        plan
    };
    let repeated = |mut plan: Plan| {
        answer(&mut plan).filter.push(locked(10));
        plan
    };
    let check = |before: &Plan, after: &Plan| super::accounts::check(Keeps::Selects, before, after, &[]);
    assert_eq!(check(&of(&[4]), &repeated(of(&[4]))), Ok(()));
    // With two rows of the relation, the second denial may be of the other row.
    assert!(check(&of(&[4, 5]), &repeated(of(&[4, 5]))).is_err());
}

/// Both denials have the same atoms, which do not say which column of a table is meant, or which row.
#[test]
fn denials_of_different_columns_are_not_one() {
    let denies = |filter: Vec<Condition>| Condition::None(vec![read(&[(9, LOCKED)], filter, Vec::new())]);
    let check = |before: &Plan, after: &Plan| super::accounts::check(Keeps::Selects, before, after, &[]);
    let of = |kind, denials: Vec<Condition>| {
        let mut plan = sound();
        let select = answer(&mut plan);
        select.from = vec![From { alias: Alias::of_number(4), kind }];
        select.filter = denials;
        plan
    };
    let of_table = |place| denies(vec![equal(column(9, 0), column(4, place))]);
    assert!(check(&of(ITSELF, vec![of_table(0), of_table(1)]), &of(ITSELF, vec![of_table(0)])).is_err());
    let own = |inner, outer| {
        let filter = vec![equal(column(9, inner), column(4, outer))];
        Condition::None(vec![read(&[(9, OWNER)], filter, Vec::new())])
    };
    assert!(check(&of(OWNER, vec![own(0, 1), own(1, 0)]), &of(OWNER, vec![own(0, 1)])).is_err());
}
