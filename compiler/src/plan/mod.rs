//! From a question's Datalog program to the algebra of one statement.
//!
//! In: a [`RoleForm`] of the program, a [`Catalog`] and the question's [`Shape`]. Out: a [`Plan`]: common
//! table expressions and an answer over them, without rules. Afterwards every join, its order and every
//! fixpoint is decided.
//!
//! [`planner`] holds the state: the relations, which of them recurse, the tables made so far. [`conjunction`]
//! orders each [`body`] goal by goal, [`next_goal`] says which goal is cheapest next, [`build`] is a select
//! in the making. [`materialise`] makes tables of calls, and [`closure`] closes recursion from the demand of
//! the enclosing [`scope`]. One program has several plans, one for each [`approach`]; [`candidates`] lists
//! them, best first.

mod answer;
mod approach;
mod asks;
mod body;
mod build;
pub(crate) mod candidates;
mod closure;
mod conjunction;
mod error;
mod materialise;
mod next_goal;
mod planner;
mod request;
mod scope;
mod table_call;

pub(crate) use approach::{Approach, Ends};
pub(crate) use request::Request;

use crate::algebra::Plan;
use crate::algebra::verify::Verifier;
use crate::datalog::Specialised;
use crate::id_vec::IdVec;
use crate::ir::{Constant, Program, RuleId};
use crate::question::CompileError;
use crate::refusal::{Place, Refusal, RuleAtLimit};
use crate::rewrite::{RoleForm, RoleFormId};
use indexmap::IndexSet;
use planner::Planner;
use std::collections::BTreeMap;

/// A plan, and the literals in it that the policy does not have.
#[derive(Clone, Debug)]
pub(crate) struct Planned {
    pub(crate) approach: Approach,
    pub(crate) plan: Plan,
    /// If the rows may be incomplete: a decision whether they are, and the refusal for that case.
    pub(crate) refusal: Option<(Plan, Refusal)>,
    pub(crate) extra_constants: IndexSet<Constant>,
    /// The rules that the question could reach.
    pub(crate) rules: IndexSet<RuleId>,
    /// The rule that most clauses come from, for messages.
    pub(crate) largest_rule: Option<RuleAtLimit>,
    /// Whether a plan with other [`Ends`] may differ.
    pub(crate) has_other_end: bool,
}

impl Planned {
    /// What checks the plan between passes.
    pub(crate) fn verifier<'v>(constants: &'v IndexSet<Constant>, request: &Request<'v>) -> Verifier<'v> {
        Verifier::of(request.program, request.catalog, constants, &request.shape.vars)
    }
}

/// Plans a question in one way; `forms` are those of its program.
///
/// # Errors
/// [`CompileError::Refused`] if it cannot be planned so.
pub(crate) fn plan(
    request: &Request<'_>,
    forms: &IdVec<RoleFormId, RoleForm>,
    approach: Approach,
) -> Result<Planned, CompileError> {
    let form = &forms[approach.form];
    let RoleForm { program: datalog, .. } = form;
    let mut planner = Planner::new(request, form, approach);
    let mut answer = planner.answer(request.shape, &datalog.roots)?;
    let (listed, whole) = (planner.tested_and_listed(), planner.closed_both_ways());
    if !listed.is_empty() || !whole.is_empty() {
        let mut again = Planner::new(request, form, approach);
        (again.listed, again.whole) = (listed, whole);
        match again.answer(request.shape, &datalog.roots) {
            Ok(other) => (planner, answer) = (again, other),
            Err(CompileError::Refused { .. }) => {}
            Err(error) => return Err(error),
        }
    }
    if planner.tables_depend_on_row() {
        return plan(request, forms, Approach { column: None, ..approach });
    }
    let refusal = planner.take_refusal()?;
    let has_other_end = planner.has_other_end;
    let plan = planner.into_plan(answer);
    let extra_constants = datalog.extra_constants.clone();
    let column = approach.column;
    let verifier = Verifier { column, ..Planned::verifier(&extra_constants, request) };
    verifier.check("plan", &plan)?;
    refusal.iter().try_for_each(|(plan, _)| verifier.check("refusal", plan))?;
    let largest_rule = largest_rule(request.program, datalog);
    Ok(Planned {
        approach,
        plan,
        refusal,
        extra_constants,
        rules: form.rules.clone(),
        largest_rule,
        has_other_end,
    })
}

/// The rule of the policy's text that most clauses of a program come from; the first of several.
fn largest_rule(program: &Program, datalog: &Specialised) -> Option<RuleAtLimit> {
    let roots = datalog.roots.iter().map(|root| &root.clause);
    let clauses = datalog.relations.iter().flat_map(|relation| &relation.clauses).chain(roots);
    let mut n_clauses: BTreeMap<RuleId, usize> = BTreeMap::new();
    for rule in clauses.filter_map(|clause| clause.rule) {
        *n_clauses.entry(rule).or_default() += 1;
    }
    let span = |rule: RuleId| program.rules[rule].span;
    let written = n_clauses.into_iter().rev().filter(|(rule, _)| !span(*rule).range().is_empty());
    let (rule, _) = written.max_by_key(|(_, n_clauses)| *n_clauses)?;
    Place::of_rule(&program.source, span(rule)).map(RuleAtLimit::Largest)
}

#[cfg(test)]
mod tests {
    use crate::catalog::{Catalog, Relation, RelationArg, RelationSource};
    use crate::question::{Domain, Question, QuestionVar, Shape};
    use crate::source::SourceMap;
    use crate::{Dialect, check, compile, limits};

    /// Groups share once there is any role. Users have all roles but one under a condition, so roles cannot
    /// be listed.
    const POLICY: &str = r#"
        actor User {}
        actor Group {}
        resource Doc {
          roles = ["reader"];
          permissions = ["read", "share"];
          permission if "reader";
        }
        allow(actor: Actor, action, resource: Resource) if
          not banned(actor) and (has_permission(actor, action, resource) or has_role(actor, "owner", resource));
        linked(from: Doc, to: Doc) if has_role(_, "reader", to) and page(from);
        has_role(_: User, role: String, _: Doc) if linked(_, _) and role != "owner";
        has_permission(_: Group, "share", _: Doc) if has_role(_, _, _);
    "#;

    /// Where roles are data, they would have to be listed; a plan that names them asks only whether there is
    /// one.
    #[test]
    fn actions_are_planned_by_names_where_roles_cannot_be_listed() {
        let relations: &[(&str, &[&str])] =
            &[("has_role", &["Group", "String", "Doc"]), ("page", &["Doc"]), ("banned", &["User"])];
        let domains = [Domain::Given("g".into()), Domain::Wanted, Domain::Given("d".into())];
        sql(POLICY, relations, "Group", domains);
    }

    /// Rules that read two tuples of each other, over facts that end the recursion. As one join of fourteen
    /// tables they would make every combination of rows.
    #[test]
    fn a_long_body_goes_on_from_a_table() {
        let policy = r#"
            actor User {}
            resource Doc { permissions = ["read"]; }
            resource Memo extends Doc {}
            similar(x: Doc, y: Doc) if cites(p, x) and similar(p, q) and cites(q, y);
            similar(x: Doc, y: Doc) if cites(x, v) and cites(x, w) and similar(v, y) and similar(w, y);
            has_permission(_: User, "read", doc: Doc) if similar(doc, _);
        "#;
        let relations: &[(&str, &[&str])] = &[("cites", &["Doc", "Memo"]), ("similar", &["Memo", "Doc"])];
        let domains = [Domain::Given("u".into()), Domain::Given("read".into()), Domain::Wanted];
        let sql = sql(policy, relations, "User", domains);
        let n_joins = |select: &str| select.matches("CROSS JOIN").count();
        assert!(sql.split("SELECT").map(n_joins).max() < Some(limits::BODY), "{sql}");
        assert!(sql.contains("SELECT DISTINCT"), "{sql}");
    }

    /// The SQL of what an actor may do to a document, over a table for each relation.
    fn sql(policy: &str, relations: &[(&str, &[&str])], actor: &str, domains: [Domain; 3]) -> String {
        let program = check(&SourceMap::new("policy.polar", policy)).program.expect("a policy");
        let column = |ty: &&str| RelationArg::Column { ty: (*ty).into(), column: "c".into() };
        let relation = |(predicate, types): &(&str, &[&str])| Relation {
            predicate: (*predicate).into(),
            args: types.iter().map(column).collect(),
            source: RelationSource::Table { schema: None, name: (*predicate).into() },
        };
        let catalog = Catalog { relations: relations.iter().map(relation).collect() };
        let vars = [actor, "String", "Doc"].into_iter().zip(domains);
        let var = |(ty, domain): (&str, _)| QuestionVar { name: String::new(), ty: Some(ty.into()), domain };
        let question = Question::atom("allow", vars.map(var).collect());
        let compiled = compile(&program, &catalog, &Shape::of(&program, &question), Dialect::Postgresql);
        compiled.expect("a plan").sql
    }
}
