//! Which rules of a policy its tests use.
//!
//! In: a checked program. Out: each rule as it is written, with the number of assertions that use it. An
//! assertion uses the rules in the proof of its query; with a variable, those in the proof for each value for
//! which the query holds. If a query does not hold, only the rules that prove a condition under `not` are
//! used: a rule that did not apply was not tested.

use super::{Bench, facts};
use crate::engine::trial_values::trial_values;
use crate::engine::why::rows::StoredRows;
use crate::engine::{Engine, EngineError};
use crate::store::{Reader, aside};
use portcullis_compiler::deadline::Deadline;
use portcullis_compiler::ir::{Assertion, Program, RuleId, Test};
use portcullis_compiler::question::{CompileError, Domain, Question, QuestionVar, Shape};
use portcullis_compiler::source::Span;
use portcullis_compiler::why::{
    Budget, By, Explanation, Lack, MetCondition, Rules, StepId, Verdict, WhyError,
};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

/// Which rules of a policy its tests use.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Coverage {
    /// The rules in the order in which they are written; a shorthand rule is one.
    pub rules: Vec<CoveredRule>,
    /// How many assertions could not be explained, so that the rules that they use are unknown.
    pub n_unexplained: usize,
}

/// A rule with its use.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CoveredRule {
    /// Its line, from 1.
    pub line: usize,
    /// Its text on one line.
    pub text: String,
    /// How many assertions use it.
    pub n_assertions: usize,
}

impl Coverage {
    /// How many rules some assertion uses.
    pub fn n_covered(&self) -> usize {
        self.rules.iter().filter(|rule| rule.n_assertions > 0).count()
    }
}

impl Engine {
    /// Which rules of a policy, active or not, its tests use.
    pub async fn coverage(&self, program: &Arc<Program>) -> Result<Coverage, EngineError> {
        let program = Arc::clone(program);
        aside(Duration::MAX, move |reader| Ok(coverage(&program, reader))).await?
    }
}

fn coverage(program: &Program, reader: &Reader) -> Result<Coverage, EngineError> {
    // The alternatives of a rule, and the rules that a shorthand rule stands for, share a span.
    let is_written = |span: Span| span != Span::default();
    let rules = program.rules.iter().filter(|rule| !program.predicate(rule.head).name.starts_with('\''));
    let mut uses: BTreeMap<Span, usize> =
        rules.map(|rule| rule.span).filter(|span| is_written(*span)).map(|span| (span, 0)).collect();
    let mut n_unexplained = 0;
    for test in &program.tests {
        let bench = Bench::new(program, test, reader, Deadline::NEVER);
        for assertion in &test.assertions {
            let used = Used::of(&bench, test, assertion)?;
            n_unexplained += usize::from(!used.is_complete);
            let places: BTreeSet<Span> = used.rules.iter().map(|rule| program.rules[*rule].span).collect();
            for place in places {
                if let Some(n_assertions) = uses.get_mut(&place) {
                    *n_assertions += 1;
                }
            }
        }
    }
    let rule = |(span, n_assertions)| CoveredRule {
        line: program.source.locate(span).line,
        text: program.source.snippet(span).split_whitespace().collect::<Vec<_>>().join(" "),
        n_assertions,
    };
    Ok(Coverage { rules: uses.into_iter().map(rule).collect(), n_unexplained })
}

/// The rules that an assertion uses.
struct Used {
    rules: BTreeSet<RuleId>,
    is_complete: bool,
}

impl Used {
    fn of(bench: &Bench<'_>, test: &Test, assertion: &Assertion) -> Result<Self, EngineError> {
        let program = bench.program;
        let facts = facts(program, test);
        let mut used = Self { rules: BTreeSet::new(), is_complete: true };
        let mut known: Vec<(Shape, Rules)> = Vec::new();
        for question in questions(bench, assertion) {
            bench.reader.check()?;
            let shape = Shape::of(program, &question);
            if !known.iter().any(|(known, _)| *known == shape) {
                match Rules::new(program, &bench.catalog, &shape, bench.deadline) {
                    Ok(rules) => known.push((shape.clone(), rules)),
                    Err(CompileError::Refused(_)) => {
                        used.is_complete = false;
                        continue;
                    }
                    Err(CompileError::OutOfTime(out_of_time)) => return Err(out_of_time.into()),
                    Err(CompileError::Bug(text)) => return Err(EngineError::Bug(text)),
                }
            }
            let Some((_, rules)) = known.iter().find(|(known, _)| *known == shape) else { continue };
            let mut rows = StoredRows::new(bench.reader, &facts, None);
            let reasons = rules.explain(program, &question, bench.now, &mut rows, Budget::default(), None);
            match reasons {
                Ok(reasons) => used.add(&reasons.explanation),
                Err(WhyError::Refused(_)) => used.is_complete = false,
                Err(WhyError::Rows(error)) => return Err(error.into()),
                Err(WhyError::Lost) => {
                    return Err(EngineError::Bug("an explanation lost what it had found".to_owned()));
                }
            }
        }
        Ok(used)
    }

    /// Adds the rules that decided the answer of an explanation.
    fn add(&mut self, explanation: &Explanation) {
        let mut next: Vec<StepId> = match explanation.verdict {
            Verdict::Holds => explanation.proof.clone(),
            Verdict::Fails => {
                let attempts = explanation.failures.iter().flat_map(|failed| &failed.attempts);
                let excluded = attempts.filter_map(|attempt| match attempt.lacks {
                    Lack::Refuted(step) => Some(step),
                    Lack::Fact(_) | Lack::Goal(_) | Lack::Test(_) => None,
                });
                excluded.collect()
            }
            Verdict::Unknown => {
                self.is_complete = false;
                return;
            }
        };
        let mut seen: BTreeSet<StepId> = next.iter().copied().collect();
        while let Some(step) = next.pop() {
            let Some(By::Rule(instance)) = explanation.steps.find(step).map(|step| &step.by) else {
                continue;
            };
            self.rules.insert(instance.rule);
            for condition in &instance.conditions {
                if let MetCondition::Step(step) = condition
                    && seen.insert(*step)
                {
                    next.push(*step);
                }
            }
        }
    }
}

/// The questions of an assertion: one, or one for each value of its variable.
fn questions(bench: &Bench<'_>, assertion: &Assertion) -> Vec<Question> {
    let goal = bench.name(assertion.goal);
    let Some(types) = &assertion.var_types else { return vec![Question::atom(goal, Vec::new())] };
    let of_type = |ty| {
        let name = bench.program.types[ty].name.clone();
        trial_values(bench.program, ty, bench.now).into_iter().map(move |value| QuestionVar {
            name: "value".to_owned(),
            ty: Some(name.clone()),
            domain: Domain::Given(value.text),
        })
    };
    let values = types.iter().flat_map(|ty| of_type(*ty));
    values.map(|value| Question::atom(goal, vec![value])).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::EngineSettings;
    use crate::engine::fixture::program;

    async fn uses(policy: &str) -> Vec<(usize, usize)> {
        let engine = Engine::in_memory(EngineSettings::default()).await.unwrap();
        let coverage = engine.coverage(&Arc::new(program(policy))).await.unwrap();
        assert_eq!(coverage.n_unexplained, 0);
        coverage.rules.iter().map(|rule| (rule.line, rule.n_assertions)).collect()
    }

    const POLICY: &str = r#"actor User {}
resource Repo {
  roles = ["reader", "writer"]; permissions = ["read", "write", "admin"]; relations = { parent: Repo };
  "reader" if "writer";
  "read" if "reader";
  "write" if "writer" and not is_frozen(resource);
  role if role on "parent";
}
is_frozen(repo: Repo) if has_label(repo, "frozen") or has_label(repo, "archived");
has_permission(user: User, "admin", _: Repo) if is_operator(user);
"#;

    /// What each rule of the policy is used by, in its order.
    async fn used_by(tests: &str) -> Vec<usize> {
        let uses = uses(&format!("{POLICY}{tests}")).await;
        assert_eq!(uses.iter().map(|(line, _)| *line).collect::<Vec<_>>(), [4, 5, 6, 7, 9, 10]);
        uses.into_iter().map(|(_, n_assertions)| n_assertions).collect()
    }

    #[tokio::test]
    async fn a_proof_uses_its_rules_and_no_others() {
        let test = r#"test "writers" {
            setup { has_role(User{"a"}, "writer", Repo{"r"}); has_relation(Repo{"s"}, "parent", Repo{"r"}); }
            assert allow(User{"a"}, "read", Repo{"r"});
            assert allow(User{"a"}, "write", Repo{"s"});
        }"#;
        assert_eq!(used_by(test).await, [1, 1, 1, 1, 0, 0]);
        assert_eq!(used_by("").await, [0; 6]);
    }

    #[tokio::test]
    async fn a_denial_uses_only_what_proves_an_exclusion() {
        let test = r#"test "frozen" {
            setup { has_role(User{"a"}, "writer", Repo{"r"}); has_label(Repo{"r"}, "archived"); }
            assert_not allow(User{"a"}, "write", Repo{"r"});
            assert_not allow(User{"b"}, "admin", Repo{"r"});
        }"#;
        assert_eq!(used_by(test).await, [0, 0, 0, 0, 1, 0]);
    }

    #[tokio::test]
    async fn each_value_of_a_variable_has_a_proof() {
        let test = r#"test "all" {
            setup {
                has_role(User{"a"}, "reader", Repo{"r"});
                has_role(User{"a"}, "writer", Repo{"s"});
                is_operator(User{"b"});
            }
            assert allow(User{"a"}, "read", repo: Repo) iff repo in [Repo{"r"}, Repo{"s"}];
            assert allow(User{"b"}, action: String, Repo{"r"}) iff action in ["admin"];
        }"#;
        assert_eq!(used_by(test).await, [1, 1, 0, 0, 0, 1]);
    }
}
