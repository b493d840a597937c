//! Answers under a policy that is not stored: a draft.
//!
//! In: a draft's text, and questions in the notation. Out: what the stored facts and the request's context
//! facts say under it. The active policy is neither read nor changed, so a draft can be tried on a service
//! that others are asking.

use super::answers::{expected, read};
use super::error::PolicyRefusal;
use super::report::TestReport;
use super::versions::Active;
use super::{Engine, EngineError, QuestionNames, Why, questions};
use crate::store::{ConsistentRead, Fact, PolicyDigest};
use portcullis_compiler::diagnostic::{Severity, render};
use portcullis_compiler::ir::{self, BlockInfo, Program, TypeKind, print};
use portcullis_compiler::question::{AnswerColumn, Domain, Question, QuestionVarId};
use portcullis_compiler::source::SourceMap;
use portcullis_compiler::{Checked, check};
use std::collections::{BTreeMap, BTreeSet};
use std::ops::ControlFlow;
use std::sync::Arc;

/// How many answers are listed.
const MOST_ANSWERS: usize = 1_000;

/// A policy that validates and is not stored.
#[derive(Clone, Debug)]
pub struct Draft(Arc<Active>);

/// What a policy names.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PolicyNames {
    /// The concrete types that are not primitive.
    pub types: BTreeSet<String>,
    /// The types of actors.
    pub actors: BTreeSet<String>,
    /// The predicates, each with the number of its arguments.
    pub predicates: BTreeSet<(String, usize)>,
    /// The predicates of facts that may be stored.
    pub stored: BTreeSet<String>,
    /// The roles, permissions and relations of each block.
    pub blocks: Vec<BlockInfo>,
}

/// The answers to a question.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Answers {
    /// The names of the wanted variables.
    pub columns: Vec<String>,
    /// A value for each column: its type, if the answer has it, and its id; `None` is any value.
    pub rows: Vec<Vec<AnsweredValue>>,
    /// Whether there are more.
    pub more: bool,
}

/// A value of an answer.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AnsweredValue {
    /// Its type; `None` for any.
    pub ty: Option<String>,
    /// Its id; `None` for any.
    pub id: Option<String>,
}

/// How the tests of a draft differ from those of another policy.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TestEdits {
    /// The names of tests in both whose facts or assertions differ.
    pub edited: BTreeSet<String>,
    /// The names of tests that the draft lacks.
    pub removed: BTreeSet<String>,
}

/// The facts of a test, sorted, and its assertions as written.
type TestText<'p> = (Vec<String>, Vec<&'p str>);

impl Draft {
    /// Checks a text; the error is why it does not validate.
    pub fn check(text: String, file: &str) -> Result<Self, EngineError> {
        let source = SourceMap::new(file, text);
        let Checked { program, diagnostics } = check(&source);
        let Some(program) = program else {
            let errors = diagnostics.iter().filter(|found| found.severity() == Severity::Error);
            let errors: Vec<String> = errors.map(|error| render::render(&source, error)).collect();
            let message = errors.join("\n\n");
            return Err(EngineError::Policy(PolicyRefusal::Validation { message, errors }));
        };
        // A draft has no version.
        let digest = PolicyDigest::of(source.text());
        Ok(Self(Arc::new(Active::new(0, digest, program, Vec::new()))))
    }

    pub(super) fn program(&self) -> &Arc<Program> {
        &self.0.program
    }

    /// A warning for each name of a question that it does not have.
    pub fn unknown_names(&self, question: &Question) -> Vec<String> {
        QuestionNames::of_question(question).unknown(self.program())
    }

    /// How its tests differ from those of another policy.
    pub fn test_edits(&self, other: &Self) -> TestEdits {
        let (own, others) = (self.tests(), other.tests());
        let mut edits = TestEdits::default();
        for (name, texts) in others {
            match own.get(name) {
                Some(own) if *own == texts => {}
                Some(_) => drop(edits.edited.insert(name.to_owned())),
                None => drop(edits.removed.insert(name.to_owned())),
            }
        }
        edits
    }

    /// What its tests say, by their names; several tests may have one name.
    fn tests(&self) -> BTreeMap<&str, Vec<TestText<'_>>> {
        let program = self.program();
        let mut tests: BTreeMap<&str, Vec<TestText<'_>>> = BTreeMap::new();
        for test in &program.tests {
            let fact = |fact: &ir::Fact| {
                let args: Vec<String> = fact.args.iter().map(|arg| print::constant(program, *arg)).collect();
                format!("{}({})", fact.predicate, args.join(", "))
            };
            let mut facts: Vec<String> = test.facts.iter().map(fact).collect();
            facts.sort_unstable();
            let assertions = test.assertions.iter();
            let assertions = assertions.map(|assertion| program.source.snippet(assertion.span)).collect();
            tests.entry(test.name.as_str()).or_default().push((facts, assertions));
        }
        tests
    }

    /// What it names.
    pub fn names(&self) -> PolicyNames {
        let program = self.program();
        let named = |kinds: &[TypeKind]| {
            let types = program.types.iter().filter(|ty| kinds.contains(&ty.kind));
            types.map(|ty| ty.name.clone()).collect::<BTreeSet<_>>()
        };
        let predicates = program.predicates.iter().filter(|predicate| !predicate.name.starts_with('\''));
        PolicyNames {
            types: named(&[TypeKind::Actor, TypeKind::Resource, TypeKind::Plain]),
            actors: named(&[TypeKind::Actor]),
            predicates: predicates.map(|predicate| (predicate.name.clone(), predicate.arity)).collect(),
            stored: program.signatures.iter().map(|signature| signature.predicate.clone()).collect(),
            blocks: program.blocks.clone(),
        }
    }
}

impl Engine {
    /// Checks a draft when it is the asker's turn.
    pub async fn draft(&self, text: String, file: String) -> Result<Draft, EngineError> {
        self.in_turn(move || Draft::check(text, &file)).await?
    }

    /// The same engine under a draft.
    #[must_use]
    pub fn under(&self, draft: &Draft) -> Self {
        let plans = self.new_plans(Arc::clone(&draft.0), self.store().relations());
        Self { older: Some(Arc::new(plans)), ..self.clone() }
    }

    /// The active policy, to compare a draft with; `None` before the first one.
    pub fn active_as_draft(&self) -> Option<Draft> {
        self.active().map(Draft)
    }

    /// Runs the tests of a draft.
    pub async fn test_draft(&self, draft: &Draft) -> Result<TestReport, EngineError> {
        self.test_policy(draft.program(), false).await
    }

    /// The answers to a question, up to a limit.
    pub async fn answers(&self, question: &Question, context: &[Fact]) -> Result<Answers, EngineError> {
        self.consistently(|attempt| self.answered(attempt, question, context)).await
    }

    async fn answered(
        &self,
        attempt: ConsistentRead<'_>,
        question: &Question,
        context: &[Fact],
    ) -> Result<Answers, EngineError> {
        let wanted: Vec<QuestionVarId> = question.wanted().map(|(var, _)| var).collect();
        let columns = wanted.iter().map(|var| question.vars[*var].name.clone()).collect();
        let Some(view) = self.view(&attempt, context)? else {
            return Ok(Answers { columns, ..Answers::default() });
        };
        questions::check_predicates(view.program(), question)?;
        let prepared = view.prepare(question).await?;
        let expected = expected([&prepared]);
        let types: Vec<Option<String>> = wanted.iter().map(|var| question.vars[*var].ty.clone()).collect();
        let list = move |reader: &crate::store::Reader| {
            if prepared.is_decision() {
                let rows = if prepared.decision(reader)? { vec![Vec::new()] } else { Vec::new() };
                return Ok((rows, false));
            }
            let (mut rows, mut more) = (Vec::new(), false);
            prepared.each(reader, |row| {
                if rows.len() == MOST_ANSWERS {
                    more = true;
                    return Ok(ControlFlow::Break(()));
                }
                let mut values: Vec<AnsweredValue> =
                    types.iter().map(|ty| AnsweredValue { ty: ty.clone(), id: None }).collect();
                for (column, text) in prepared.columns().iter().zip(row) {
                    let (AnswerColumn::Id(var) | AnswerColumn::Type(var)) = column;
                    let at = wanted.iter().position(|wanted| wanted == var);
                    let Some(value) = at.and_then(|at| values.get_mut(at)) else { continue };
                    let text = text.take().map(std::borrow::Cow::into_owned);
                    match column {
                        AnswerColumn::Id(_) => value.id = text,
                        AnswerColumn::Type(_) => value.ty = text,
                    }
                }
                rows.push(values);
                Ok(ControlFlow::Continue(()))
            })?;
            Ok((rows, more))
        };
        let (rows, more) = read(&attempt, expected, list).await?;
        Ok(Answers { columns, rows, more })
    }

    /// Why a question has an answer, or has none.
    pub async fn reasons(&self, question: &Question, context: &[Fact]) -> Result<Why, EngineError> {
        let mut question = question.clone();
        for var in &mut question.vars {
            if var.domain == Domain::Wanted {
                var.domain = Domain::Ignored;
            }
        }
        self.consistently(async |attempt| self.reasoned(&attempt, &question, context).await).await
    }
}

#[cfg(test)]
mod tests {
    use super::super::fixture::fact;
    use super::super::{EngineSettings, PolicyOptions, notation};
    use super::*;
    use crate::engine::Change;

    const STORED: &str = "declare knows(User, User);";

    async fn engine() -> Engine {
        let engine = Engine::in_memory(EngineSettings::default()).await.unwrap();
        engine.set_policy(STORED.to_owned(), "p".to_owned(), PolicyOptions::default()).await.unwrap();
        let facts = vec![fact("knows", &["User:a", "User:b"]), fact("knows", &["User:a", "User:c"])];
        engine.apply(vec![Change::Insert(facts)]).await.unwrap();
        engine
    }

    #[tokio::test]
    async fn a_draft_answers_over_the_stored_facts_and_changes_nothing() {
        let engine = engine().await;
        let policy = format!("{STORED} actor User {{}} known(u: User) if knows(_, u);");
        let drafted = engine.under(&engine.draft(policy, "p".to_owned()).await.unwrap());
        let question = notation::parse("known(User:?u)").unwrap();
        let answers = drafted.answers(&question, &[]).await.unwrap();
        let value = |id: &str| vec![AnsweredValue { ty: Some("User".into()), id: Some(id.into()) }];
        assert_eq!(answers.columns, ["u"]);
        assert_eq!((answers.rows, answers.more), (vec![value("b"), value("c")], false));
        let context = [fact("knows", &["User:b", "User:d"])];
        assert_eq!(drafted.answers(&question, &context).await.unwrap().rows.len(), 3);
        assert!(drafted.reasons(&question, &[]).await.unwrap().allowed);
        let refused = engine.answers(&question, &[]).await.unwrap_err();
        assert!(matches!(refused, EngineError::UnknownPredicate { .. }), "{refused}");
        assert_eq!(engine.policy(None).await.unwrap().unwrap().src, STORED);
    }

    #[tokio::test]
    async fn a_draft_with_errors_is_refused_with_all_of_them() {
        let engine = engine().await;
        let policy = r#"resource R { roles = ["a"]; "a" if "b"; "a" if "c"; }"#.to_owned();
        let refused = engine.draft(policy, "p".to_owned()).await.unwrap_err();
        let EngineError::Policy(PolicyRefusal::Validation { errors, .. }) = refused else {
            panic!("{refused}")
        };
        assert!(errors.len() >= 2, "{errors:#?}");
    }

    #[test]
    fn tests_that_a_draft_edits_or_removes_are_named() {
        let draft = |text: &str| Draft::check(text.to_owned(), "p").unwrap_or_else(|error| panic!("{error}"));
        let policy = |tests: &str| draft(&format!("{STORED} known(u: User) if knows(_, u); {tests}"));
        let test = |name: &str, assertion: &str, who: &str| {
            let facts = format!(r#"knows(User{{"{who}"}}, User{{"b"}}); knows(User{{"c"}}, User{{"d"}});"#);
            format!(r#"test "{name}" {{ setup {{ {facts} }} {assertion} known(User{{"b"}}); }} "#)
        };
        let stored: String =
            ["same", "flipped", "other facts", "gone"].map(|name| test(name, "assert", "a")).concat();
        let edited = [
            test("flipped", "assert_not", "a"),
            test("other facts", "assert", "z"),
            test("same", "assert", "a"),
            test("new", "assert", "a"),
        ];
        let edits = policy(&edited.concat()).test_edits(&policy(&stored));
        assert_eq!(edits.edited, BTreeSet::from(["flipped".to_owned(), "other facts".to_owned()]));
        assert_eq!(edits.removed, BTreeSet::from(["gone".to_owned()]));
    }

    #[test]
    fn names_of_a_draft_are_those_that_people_write() {
        let policy = r#"actor User {} resource Repo { roles = ["reader"]; } test "t" { assert_not p(); } p() if q();
            declare q();"#;
        let draft = Draft::check(policy.to_owned(), "p");
        let names = draft.unwrap_or_else(|error| panic!("{error}")).names();
        assert_eq!(names.actors, BTreeSet::from(["User".to_owned()]));
        assert!(names.types.contains("Repo") && !names.types.contains("String"), "{:?}", names.types);
        assert!(names.predicates.iter().all(|(name, _)| !name.starts_with('\'')), "{:?}", names.predicates);
        assert!(names.stored.contains("has_role"), "{:?}", names.stored);
    }
}
