//! The service's engine over a store in memory or on PostgreSQL, and every way to ask it a question.
//!
//! In: a policy and facts. A question of the entry point can be asked as a check, as a list of resources
//! or of actions; any question of one predicate as a pattern; any question whose variables have types as
//! a conjunction. [`Hosted::ask_every_way`] asks all that apply, and they must agree.

mod environments;
mod requests;

use super::fixture::Answer;
use super::id_order::{in_order, is_in_order};
use super::local::ways::twin;
use super::notation::{Cell, Fact, Value};
use super::outcome::{Allow, Outcome, ids, is_wanted};
use super::refusal::NoAnswer;
use environments::{LentEnvironment, LentPlace};
use portcullis::engine::{
    ANY, CallerRow, Engine, EngineError, EngineSettings, EvaluateQuery, LocalExplanation, LocalQuestion,
    LocalRequest, LocalWhy, LocalWhyRequest, Page, PolicyOptions, ReviewQuestion, Reviewed, ReviewedType,
    SubjectsPage, Why, WriteMark,
};
use portcullis::store::{self, ArgPattern, Change, FactPattern};
use portcullis_compiler::question::{Domain, Question, QuestionVar};
use requests::{conjunction, pattern, stored, stored_all, subjects, why_question};
use std::collections::BTreeSet;
use std::sync::LazyLock;
use tokio::runtime::Runtime;

/// What every test of this process runs its futures on.
pub static RUNTIME: LazyLock<Runtime> = LazyLock::new(|| Runtime::new().unwrap());

/// An engine with a policy.
pub struct Hosted {
    engine: Engine,
    /// Lends the engine, if it has a store on PostgreSQL.
    lent: Option<LentEnvironment>,
}

impl Hosted {
    /// An engine with this policy, or why it refuses it.
    pub fn new(policy: &str) -> Result<Self, String> {
        let engine = RUNTIME.block_on(Engine::in_memory(EngineSettings::default()));
        Self::over(engine.map_err(|error| error.to_string())?, None, policy)
    }

    /// The same with a store on the PostgreSQL server of this process.
    pub fn on_postgres(policy: &str) -> Result<Self, String> {
        let lent = LentEnvironment::new(LentPlace::Server)?;
        Self::over(lent.engine().clone(), Some(lent), policy)
    }

    /// The same with a replica, which answers questions after [`after_writes`](Self::after_writes).
    pub fn replicated(policy: &str) -> Result<Self, String> {
        let lent = LentEnvironment::new(LentPlace::Replicated)?;
        Self::over(lent.engine().clone(), Some(lent), policy)
    }

    /// The same engine, whose questions name its last write: a replica that has it may answer them.
    pub fn after_writes(self) -> Result<Self, String> {
        let Self { engine, lent } = self;
        // A batch that changes nothing returns the moment of the last one.
        let last = RUNTIME.block_on(engine.apply(Vec::new())).map_err(|error| error.to_string())?;
        Ok(Self { engine: engine.after(WriteMark::token(&last.to_string())), lent })
    }

    /// How many questions the replica has answered, those of former policies included.
    pub fn answered_by_replica(&self) -> u64 {
        self.engine.replica_usage().iter().map(|replica| replica.answered).sum()
    }

    /// The one or the other: one in `share` policies has a store on PostgreSQL, according to their number.
    pub fn in_turn(policy: &str, number: usize, share: usize) -> Result<Self, String> {
        if number.is_multiple_of(share) { Self::on_postgres(policy) } else { Self::new(policy) }
    }

    /// Whether the store is on PostgreSQL.
    pub fn is_on_postgres(&self) -> bool {
        self.lent.is_some()
    }

    fn over(engine: Engine, lent: Option<LentEnvironment>, policy: &str) -> Result<Self, String> {
        let options = PolicyOptions::default();
        let set = engine.set_policy(policy.to_owned(), "policy.polar".to_owned(), options);
        RUNTIME.block_on(set).map_err(|error| error.to_string())?;
        Ok(Self { engine, lent })
    }

    /// Stores facts, or says why not.
    pub fn store(&self, facts: &[Fact]) -> Result<(), String> {
        let insert = Change::Insert(stored_all(facts));
        RUNTIME.block_on(self.engine.apply(vec![insert])).map(|_| ()).map_err(|error| error.to_string())
    }

    /// The engine itself, for a server around it.
    pub fn into_engine(self) -> Engine {
        self.engine
    }

    /// Asks in each way that fits the question.
    pub fn ask_every_way(&self, question: &Question, context: &[Fact]) -> Vec<(&'static str, Outcome)> {
        let allow = Allow::of(question).map(|allow| ("entry point", self.ask_allow(&allow, context)));
        let pattern =
            pattern(question).map(|pattern| ("pattern", self.ask_pattern(question, pattern, context)));
        let conjunction = conjunction(question)
            .map(|query| ("conjunction", self.ask_conjunction(question, query, context)));
        [allow, pattern, conjunction].into_iter().flatten().collect()
    }

    /// Asks in one of the ways that fit the question; `turn` says in which.
    pub fn ask_one_way(&self, question: &Question, context: &[Fact], turn: usize) -> (&'static str, Outcome) {
        let (allow, pattern) = (Allow::of(question), pattern(question));
        match (turn % 3, allow, pattern, conjunction(question)) {
            (0, Some(allow), _, _) | (_, Some(allow), None, None) => {
                ("entry point", self.ask_allow(&allow, context))
            }
            (0 | 1, _, Some(pattern), _) | (_, _, Some(pattern), None) => {
                ("pattern", self.ask_pattern(question, pattern, context))
            }
            (_, _, _, Some(query)) => ("conjunction", self.ask_conjunction(question, query, context)),
            (_, None, None, None) => panic!("there is no way to ask {question:?}"),
        }
    }

    /// Asks the entry point.
    pub fn ask_allow(&self, allow: &Allow, context: &[Fact]) -> Outcome {
        let (engine, context) = (&self.engine, stored_all(context));
        outcome(RUNTIME.block_on(async {
            Ok(match allow {
                Allow::Authorize(actor, action, resource) => {
                    let (actor, resource) = (stored(actor), stored(resource));
                    Answer::Decision(engine.authorize(actor, action.clone(), resource, context).await?)
                }
                Allow::List(actor, action, ty) => {
                    let list = engine.list(stored(actor), action.clone(), ty.clone(), None, context);
                    ids(ty, in_order(list.await?.ids)?)
                }
                Allow::Actions(actor, resource) => {
                    ids("String", in_order(engine.actions(stored(actor), stored(resource), context).await?)?)
                }
                Allow::Subjects(ty, action, resource) => {
                    let list = engine.list_subjects(subjects(ty.as_deref(), action, resource), None, context);
                    who(&list.await?.subjects)?
                }
            })
        }))
    }

    /// The explanation of a question whose variables have types.
    pub fn why(&self, question: &Question, context: &[Fact]) -> Option<Result<Why, NoAnswer>> {
        let why = self.engine.explain(why_question(question)?, stored_all(context));
        Some(RUNTIME.block_on(why).map_err(NoAnswer::from))
    }

    /// The same of a local check; `run` runs a statement on the caller's database.
    pub fn why_on_caller(
        &self,
        bindings: &str,
        question: &Question,
        context: &[Fact],
        run: impl Fn(&str) -> Result<Vec<Vec<Option<String>>>, String>,
    ) -> Option<Result<Why, NoAnswer>> {
        let question = why_question(question)?;
        let mut rows = Vec::new();
        loop {
            let request = LocalWhyRequest {
                bindings: bindings.to_owned(),
                question: question.clone(),
                context: stored_all(context),
                rows: rows.clone(),
            };
            let sql = match RUNTIME.block_on(self.engine.explain_on_caller(request)) {
                Ok(LocalWhy::Ask(sql)) => sql,
                Ok(LocalWhy::Explained(why)) => return Some(Ok(*why)),
                Err(error) => return Some(Err(NoAnswer::from(error))),
            };
            let known = rows.len();
            match run(&sql) {
                Ok(found) => rows.extend(found.into_iter().map(|mut row| {
                    let part = row.remove(0).unwrap_or_default();
                    CallerRow { part, values: row }
                })),
                Err(message) => return Some(Err(NoAnswer::fault(message))),
            }
            assert!(rows.len() > known, "nothing was asked:\n{sql}");
        }
    }

    /// Every action with every value of a type, for an actor or a resource; `None` if a part is refused.
    pub fn review(&self, about: &Reviewed, ty: &str) -> Result<Option<BTreeSet<Vec<Cell>>>, NoAnswer> {
        let types = Some(BTreeSet::from([ty.to_owned()]));
        let question = ReviewQuestion { about: about.clone(), types };
        let review = RUNTIME.block_on(self.engine.review(question)).map_err(NoAnswer::from)?;
        let mut rows = BTreeSet::new();
        for ReviewedType { actions, refused, .. } in review.types {
            if refused.is_some() {
                return Ok(None);
            }
            for action in actions {
                let value = |value: &store::Value| Value::new(&value.ty, &value.id);
                let (allow, at) = match about {
                    Reviewed::Actor(actor) => (Allow::List(value(actor), action.clone(), ty.to_owned()), 1),
                    Reviewed::Resource(it) => {
                        (Allow::Subjects(Some(ty.to_owned()), action.clone(), value(it)), 0)
                    }
                };
                let action = match action.as_str() {
                    ANY => Cell::AnyOf("String".to_owned()),
                    action => Cell::Value(Value::new("String", action)),
                };
                let Outcome::Is(Answer::Rows(found)) = self.ask_allow(&allow, &[]) else { return Ok(None) };
                for mut row in found {
                    // In the order of the arguments.
                    row.insert(1 - at, action.clone());
                    rows.insert(row);
                }
            }
        }
        Ok(Some(rows))
    }

    /// A list of the entry point, read in pages of this size to its end.
    pub fn ask_pages(
        &self,
        (actor, action, ty): (&Value, &str, &str),
        size: usize,
        context: &[Fact],
    ) -> Result<Vec<Vec<String>>, NoAnswer> {
        let mut pages = Vec::new();
        let mut after = None;
        loop {
            let page = Page { size, after };
            let (actor, context) = (stored(actor), stored_all(context));
            let list = self.engine.list(actor, action.to_owned(), ty.to_owned(), Some(page), context);
            let page = RUNTIME.block_on(list).map_err(NoAnswer::from)?;
            pages.push(page.ids);
            if page.next_after.is_none() {
                return Ok(pages);
            }
            after = page.next_after;
        }
    }

    /// A list of actors, read in pages of this size to its end.
    pub fn ask_subject_pages(
        &self,
        (ty, action, resource): (&Option<String>, &str, &Value),
        size: usize,
        context: &[Fact],
    ) -> Result<(Vec<usize>, Answer), NoAnswer> {
        let mut sizes = Vec::new();
        let mut all = Vec::new();
        let mut after = None;
        loop {
            let page = SubjectsPage { size, after };
            let question = subjects(ty.as_deref(), action, resource);
            let list = self.engine.list_subjects(question, Some(page), stored_all(context));
            let page = RUNTIME.block_on(list).map_err(NoAnswer::from)?;
            sizes.push(page.subjects.len());
            all.extend(page.subjects);
            if page.next_after.is_none() {
                return Ok((sizes, who(&all).map_err(NoAnswer::from)?));
            }
            after = page.next_after;
        }
    }

    /// Those of the resources that pass, in their order.
    pub fn filter(
        &self,
        actor: &Value,
        action: &str,
        resources: &[Value],
        context: &[Fact],
    ) -> Result<Vec<Value>, NoAnswer> {
        let resources = resources.iter().map(stored).collect();
        let filter =
            self.engine.authorize_resources(stored(actor), action.to_owned(), resources, stored_all(context));
        let passed = RUNTIME.block_on(filter).map_err(NoAnswer::from)?;
        Ok(passed.into_iter().map(|value| Value::new(&value.ty, &value.id)).collect())
    }

    /// The SQL that answers a question on the caller's database, as it comes after other questions.
    pub fn local(
        &self,
        bindings: &str,
        question: LocalQuestion,
        context: &[Fact],
    ) -> Result<String, NoAnswer> {
        let request = LocalRequest { bindings: bindings.to_owned(), question, context: stored_all(context) };
        RUNTIME.block_on(self.engine.local(request)).map_err(NoAnswer::from)
    }

    /// SQL for a caller's database, and how it came about.
    pub fn explain_local(
        &self,
        bindings: &str,
        question: LocalQuestion,
    ) -> Result<LocalExplanation, NoAnswer> {
        let request = LocalRequest { bindings: bindings.to_owned(), question, context: Vec::new() };
        RUNTIME.block_on(self.engine.explain_local(request)).map_err(NoAnswer::from)
    }

    /// The same SQL. It must be what is printed for this question alone, independently of what was asked
    /// before.
    pub fn local_alone(
        &self,
        bindings: &str,
        question: LocalQuestion,
        context: &[Fact],
    ) -> Result<String, NoAnswer> {
        let request =
            |question| LocalRequest { bindings: bindings.to_owned(), question, context: stored_all(context) };
        RUNTIME.block_on(async {
            // Its own answer does not matter, and it may be refused.
            let _ = self.engine.local(request(twin(&question))).await;
            let sql = self.engine.local(request(question.clone())).await.map_err(NoAnswer::from)?;
            let alone =
                self.engine.explain_local(request(question.clone())).await.map_err(NoAnswer::from)?.sql;
            // A text may hold the time, which has gone on.
            if sql == alone || self.engine.local(request(question)).await.is_ok_and(|again| again == alone) {
                return Ok(alone);
            }
            Err(NoAnswer::fault(format!("{sql}\nis not what is printed\n{alone}")))
        })
    }

    fn ask_pattern(&self, question: &Question, pattern: FactPattern, context: &[Fact]) -> Outcome {
        outcome(RUNTIME.block_on(self.engine.query(pattern, stored_all(context))).map(|facts| {
            // The arguments of the pattern are the variables in their order.
            let vars = question.vars.iter().enumerate();
            let wanted: Vec<usize> = vars.filter(|(_, var)| is_wanted(var)).map(|(at, _)| at).collect();
            if wanted.is_empty() {
                return Answer::Decision(!facts.is_empty());
            }
            let cell = |arg: &ArgPattern| match arg {
                ArgPattern::Exact(value) => Cell::Value(Value::new(&value.ty, &value.id)),
                ArgPattern::Typed(ty) => Cell::AnyOf(ty.clone()),
                ArgPattern::Any => Cell::Any,
            };
            Answer::Rows(
                facts.iter().map(|fact| wanted.iter().map(|&at| cell(&fact.args[at])).collect()).collect(),
            )
        }))
    }

    fn ask_conjunction(&self, question: &Question, query: EvaluateQuery, context: &[Fact]) -> Outcome {
        outcome(RUNTIME.block_on(self.engine.evaluate(query, stored_all(context))).map(|answers| {
            let is_asked = |var: &&QuestionVar| matches!(var.domain, Domain::Wanted | Domain::GivenOneOf(_));
            let asked: Vec<&QuestionVar> = question.vars.iter().filter(is_asked).collect();
            if asked.is_empty() {
                return Answer::Decision(!answers.is_empty());
            }
            let cell = |var: &QuestionVar, id: &Option<String>| {
                let ty = var.ty.clone().unwrap();
                id.as_ref().map_or_else(|| Cell::AnyOf(ty.clone()), |id| Cell::Value(Value::new(&ty, id)))
            };
            let rows =
                answers.iter().map(|answer| asked.iter().map(|var| cell(var, &answer[&var.name])).collect());
            Answer::Rows(rows.collect::<BTreeSet<_>>())
        }))
    }
}

/// Actors as an answer, or a fault if they are out of order or one occurs twice.
fn who(subjects: &[ArgPattern]) -> Result<Answer, EngineError> {
    let key = |subject: &ArgPattern| match subject {
        ArgPattern::Any => (None, None),
        ArgPattern::Typed(ty) => (Some(ty.clone()), None),
        ArgPattern::Exact(value) => (Some(value.ty.clone()), Some(value.id.clone())),
    };
    let keys: Vec<_> = subjects.iter().map(key).collect();
    let follows = |((ty, id), (next_ty, next_id)): (&(_, Option<String>), &(_, Option<String>))| {
        ty < next_ty
            || ty == next_ty
                && match (id, next_id) {
                    (None, next) => next.is_some(),
                    (Some(_), None) => false,
                    (Some(id), Some(next)) => is_in_order(&[id.clone(), next.clone()]),
                }
    };
    if !keys.iter().zip(keys.iter().skip(1)).all(follows) {
        return Err(EngineError::Bug(format!("out of order: {subjects:?}")));
    }
    let cell = |subject: &ArgPattern| match subject {
        ArgPattern::Any => Cell::Any,
        ArgPattern::Typed(ty) => Cell::AnyOf(ty.clone()),
        ArgPattern::Exact(value) => Cell::Value(Value::new(&value.ty, &value.id)),
    };
    Ok(Answer::Rows(subjects.iter().map(|subject| vec![cell(subject)]).collect()))
}

/// How the message of a bug begins, which is not a refusal.
pub const FAULT: &str = "a fault of the engine: ";

fn outcome(result: Result<Answer, EngineError>) -> Outcome {
    match result {
        Ok(answer) => Outcome::Is(answer),
        Err(error) => Outcome::Refused(error.into()),
    }
}
