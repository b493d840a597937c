//! Replaces renamings by what they rename, so that hierarchies become one relation.
//!
//! In: a [`Specialised`] program. Out: the same relations with fewer clauses. Three rewrites, the first two
//! together, as each needs the other's inclusions:
//!
//! 1. **Unfold renames.** A clause whose body is one call with the head's own columns only includes
//!    another relation (`"reader" if "maintainer"`): it is replaced by that relation's other clauses.
//! 2. **Drop the subsumed.** If `q` is included in `p`, then `p :- e, q` adds nothing to `p :- e, p`. By
//!    induction on derivations: what the dropped clause derives, the kept one does.
//! 3. **Fold recursions.** A relation that still has all clauses of a recursive relation that it includes
//!    calls that relation instead.
//!
//! Once [`super::literals`] has merged what is left, `reader <- maintainer <- admin`, each inherited from the
//! parent folder, is one scan `role IN ('admin', 'maintainer', 'reader')` and one recursive clause.

use super::inclusion::{Inclusions, renamed};
use crate::datalog::{Clause, Goal, RelId, Specialised, Term};
use crate::deadline::Deadline;
use crate::id_vec::IdVec;
use crate::ir::Polarity;
use crate::limits;
use crate::ordered::{OrderedMap, OrderedSet};
use rustc_hash::FxHashSet;
use std::cmp::Reverse;

/// A clause's head and goals with the relations that it calls positively erased, by which like clauses are
/// found.
type WithoutCalls = (Vec<Term>, Vec<Goal>);

/// A relation after unfolding.
#[derive(Clone)]
struct Unfolded {
    clauses: Vec<Clause>,
    /// The clauses that were replaced by those of another group; they call representatives.
    renamings: Vec<Clause>,
}

/// How many clauses that differ only in what they call one clause is compared with; more are seldom
/// comparable.
const COMPARED: usize = 64;

/// Rewrites the relations that the question reaches, and empties all others.
pub(super) fn unfold(program: &mut Specialised, deadline: Deadline) {
    let mut inclusions = Inclusions::new(program);
    let mut budget = limits::UNFOLDED_CLAUSES;
    let mut rewritten: IdVec<RelId, Option<Unfolded>> = IdVec::like(&program.relations, None);
    for root in &mut program.roots {
        represent(&mut root.clause, &inclusions);
    }
    let mut queue: Vec<RelId> = program.roots.iter().flat_map(|root| root.clause.callees()).collect();
    while let Some(rel) = queue.pop()
        && !deadline.is_over()
    {
        if rewritten[rel].is_none() {
            let unfolded = without_subsumed(program, rel, &mut inclusions, &mut budget);
            queue.extend(unfolded.clauses.iter().flat_map(Clause::callees));
            rewritten[rel] = Some(unfolded);
        }
    }
    for (relation, own) in program.relations.iter_mut().zip(rewritten.iter()) {
        // What the question does not reach was not rewritten, and is emptied.
        relation.clauses = own.as_ref().map_or_else(Vec::new, |own| folded(own, &rewritten));
    }
}

/// The clauses of a relation, with a call of each included recursion in place of its clauses. What is called
/// never includes this relation, so the calls end.
fn folded(own: &Unfolded, rewritten: &IdVec<RelId, Option<Unfolded>>) -> Vec<Clause> {
    let mut clauses: OrderedSet<&Clause> = own.clauses.iter().collect();
    let recursion = |renaming: &'_ Clause| {
        let rel = renamed(renaming)?;
        let recursion = &rewritten[rel].as_ref()?.clauses;
        let is_recursive = recursion.iter().any(|clause| clause.callees().any(|callee| callee == rel));
        is_recursive.then_some(recursion)
    };
    let mut included: Vec<(&Clause, &Vec<Clause>)> =
        own.renamings.iter().filter_map(|renaming| Some((renaming, recursion(renaming)?))).collect();
    // The largest first: it may include the others.
    included.sort_by_key(|(_, recursion)| Reverse(recursion.len()));
    for (renaming, recursion) in included {
        if recursion.iter().all(|clause| clauses.contains(clause)) {
            let repeated: FxHashSet<&Clause> = recursion.iter().collect();
            clauses.retain(|clause| !repeated.contains(clause));
            clauses.insert(renaming);
        }
    }
    clauses.into_iter().cloned().collect()
}

/// Calls the representatives of what a clause calls.
fn represent(clause: &mut Clause, inclusions: &Inclusions) {
    for goal in &mut clause.goals {
        if let Goal::Call { rel, .. } = goal {
            *rel = inclusions.representative(*rel);
        }
    }
}

/// The clauses of a relation after unfolding, without those that another one covers.
///
/// The relation keeps its own clauses if unfolding it would exceed the budget.
fn without_subsumed(
    program: &Specialised,
    rel: RelId,
    inclusions: &mut Inclusions,
    budget: &mut usize,
) -> Unfolded {
    let clauses_of = |rel: &RelId| &program.relations[*rel].clauses;
    let mut included = inclusions.included(rel);
    let n_clauses = included.iter().map(|rel| clauses_of(rel).len()).sum();
    match budget.checked_sub(n_clauses) {
        Some(left) => *budget = left,
        None => included = inclusions.group(rel).to_vec(),
    }
    let unfolded: FxHashSet<RelId> = included.iter().copied().collect();
    let clauses = included.iter().flat_map(clauses_of).cloned();
    let (mut renamings, mut clauses): (Vec<Clause>, Vec<Clause>) =
        clauses.partition(|clause| renamed(clause).is_some_and(|rel| unfolded.contains(&rel)));
    let group = inclusions.representative(rel);
    renamings.iter_mut().for_each(|renaming| represent(renaming, inclusions));
    renamings.retain(|renaming| renamed(renaming) != Some(group));
    if let [clause] = clauses.as_mut_slice() {
        represent(clause, inclusions);
        return Unfolded { clauses, renamings };
    }
    // Clauses that agree except in the relations they call.
    let mut buckets: OrderedMap<WithoutCalls, Vec<Clause>> = OrderedMap::default();
    for mut clause in clauses {
        represent(&mut clause, inclusions);
        let bucket = buckets.entry(without_calls(&clause)).or_default();
        if bucket.iter().take(COMPARED).any(|kept| is_subsumed(&clause, kept, inclusions)) {
            continue;
        }
        if bucket.len() <= COMPARED {
            bucket.retain(|kept| !is_subsumed(kept, &clause, inclusions));
        }
        bucket.push(clause);
    }
    Unfolded { clauses: buckets.into_values().flatten().collect(), renamings }
}

/// The clause with every positively called relation erased.
fn without_calls(clause: &Clause) -> WithoutCalls {
    let mut goals = clause.goals.clone();
    for goal in &mut goals {
        if let Goal::Call { polarity: Polarity::Positive, rel, .. } = goal {
            *rel = RelId::ERASED;
        }
    }
    (clause.head.clone(), goals)
}

/// Whether each relation that `clause` calls is included in the one that `other` calls there.
fn is_subsumed(clause: &Clause, other: &Clause, inclusions: &mut Inclusions) -> bool {
    clause.goals.iter().zip(&other.goals).all(|(goal, other)| match (goal, other) {
        (
            Goal::Call { polarity: Polarity::Positive, rel: smaller, .. },
            Goal::Call { polarity: Polarity::Positive, rel: larger, .. },
        ) => inclusions.includes(*larger, *smaller),
        (goal, other) => goal == other,
    })
}

#[cfg(test)]
mod tests {
    use crate::catalog::{Catalog, Relation, RelationArg, RelationSource};
    use crate::check;
    use crate::dialect::Dialect;
    use crate::question::{Question, QuestionVar, Shape};
    use crate::source::SourceMap;

    /// The statement for the folders that `ada` may read, where their type has these roles and rules.
    fn folders_to_read(roles: &str, rules: &str) -> String {
        let policy = format!(
            r#"
            actor User {{}}
            resource Folder {{
              roles = [{roles}];
              permissions = ["read"];
              relations = {{ parent: Folder, shelf: Folder, owner: User }};
              {rules}
            }}
            "#
        );
        let program = check(&SourceMap::new("policy.polar", &policy)).program.expect("a policy");
        let relation = |predicate: &str, types: [&str; 3], name: &str| Relation {
            predicate: predicate.into(),
            args: types.map(|ty| RelationArg::Column { ty: ty.into(), column: ty.to_lowercase() }).into(),
            source: RelationSource::Table { schema: None, name: name.into() },
        };
        let relations = vec![
            relation("has_role", ["User", "String", "Folder"], "granted"),
            relation("has_relation", ["Folder", "String", "Folder"], "nested"),
            relation("has_relation", ["Folder", "String", "User"], "owned"),
        ];
        let question = Question::atom(
            "allow",
            vec![
                QuestionVar::given("who", "User", "ada"),
                QuestionVar::given("action", "String", "read"),
                QuestionVar::wanted("what", Some("Folder")),
            ],
        );
        let shape = Shape::of(&program, &question);
        let catalog = Catalog { relations: relations.into() };
        crate::compile(&program, &catalog, &shape, Dialect::Postgresql).expect("a statement").sql
    }

    fn reads(sql: &str) -> [usize; 3] {
        ["granted", "nested", "owned"].map(|table| sql.matches(table).count())
    }

    /// A folder's owner may read that folder only; a reader may also read the folders in it. So the
    /// permission includes the recursive role but is not recursive itself.
    #[test]
    fn the_start_of_an_included_recursion_is_read_once() {
        let rules = r#""reader" if "reader" on "parent"; "read" if "reader"; "read" if "owner";"#;
        let sql = folders_to_read(r#""reader""#, rules);
        assert_eq!(reads(&sql), [1, 1, 1], "{sql}");
    }

    /// Roles that include each other are one group, and any of them may be the one that is called.
    #[test]
    fn a_group_of_equal_recursions_is_called_as_one() {
        let both = r#""reader" if "guest"; "guest" if "reader"; "reader" if "reader" on "parent";"#;
        for included in ["reader", "guest"] {
            let rules = format!(r#"{both} "read" if "{included}"; "read" if "owner";"#);
            let sql = folders_to_read(r#""reader", "guest""#, &rules);
            assert_eq!(reads(&sql), [1, 1, 1], "{sql}");
        }
    }

    #[test]
    fn each_of_several_included_recursions_is_called() {
        let rules = r#"
            "reader" if "reader" on "parent";
            "guest" if "guest" on "shelf";
            "read" if "reader";
            "read" if "guest";
            "read" if "owner";
        "#;
        let sql = folders_to_read(r#""reader", "guest""#, rules);
        assert_eq!(reads(&sql), [2, 2, 1], "{sql}");
    }

    /// `guest` starts from all readers, and reads the recursion of `reader` instead of its clauses.
    #[test]
    fn a_recursion_inside_another_is_not_repeated() {
        let rules = r#"
            "reader" if "reader" on "parent";
            "guest" if "reader";
            "guest" if "guest" on "shelf";
            "read" if "guest";
            "read" if "reader";
            "read" if "owner";
        "#;
        let sql = folders_to_read(r#""reader", "guest""#, rules);
        assert_eq!(reads(&sql), [2, 2, 1], "{sql}");
    }
}
