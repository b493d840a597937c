//! One policy with its facts, many of its questions, and all judges.
//!
//! In: a [`Sample`]. Each question is asked in one way and one place of each judge, another for each question
//! and policy; one in a few in every way that the engine has. Lists are asked once more among many resources
//! ([`super::many_resources`]). A sample on its way to a smaller one is asked the question that failed alone,
//! in every way and every place.

use super::explain::Explaining;
use super::many_resources::ManyResources;
use super::next;
use super::page::{answer, page};
use super::review;
use super::tally::{Tally, count, is_late};
use super::unmentioned::Unmentioned;
use portcullis_compiler::ir::Program;
use portcullis_compiler::question::Question;
use portcullis_testkit::fixture::{Answer, Expected};
use portcullis_testkit::generate::Sample;
use portcullis_testkit::hosted::Hosted;
use portcullis_testkit::local::referee::Referee;
use portcullis_testkit::local::split::{self, Split};
use portcullis_testkit::local::ways::{Way, ways};
use portcullis_testkit::local::{Asked, DIALECTS, Local};
use portcullis_testkit::notation::{Fact, Value};
use portcullis_testkit::oracle::Oracle;
use portcullis_testkit::outcome::{Allow, Outcome, mentioned};
use portcullis_testkit::policy;
use portcullis_testkit::questions::questions;
use portcullis_testkit::refusal::Kind;
use portcullis_testkit::statements::Statements;
use portcullis_testkit::why::Judge;

/// Of a policy's lists of actions one in `STEP_OF_ACTIONS` is asked: each asks about all of them.
const STEP_OF_ACTIONS: u64 = 2;

/// One in this many policies has the engine over a store on PostgreSQL for facts that are stored and sent.
pub(super) const ON_POSTGRES: usize = 3;

/// One in this many policies has it over a store whose replica answers: among those on PostgreSQL.
const ON_REPLICA: usize = 4 * ON_POSTGRES;

/// One in this many questions is put to the engine in every way.
const EVERY_WAY: usize = 7;

/// The statements of every `STATEMENTS`th policy run on the databases, for one in `STATEMENTS` questions.
const STATEMENTS: usize = 6;

/// One in this many questions is explained. An explanation takes as long as several answers, and another run
/// ([`super::proofs`]) asks for nothing else.
const EXPLAINED: usize = 5;

/// One in this many questions is explained on a caller's database.
const EXPLAINED_LOCALLY: usize = 23;

/// Of the lists one in this many is reviewed with every action.
const REVIEWED: usize = 3;

/// One local text in `ALONE` is compared with what is printed for its question alone.
const ALONE: usize = 20;

/// How many assignments the oracle tries for one policy: some seconds.
pub(crate) const PATIENCE: u64 = 30_000_000;

/// The reasons for which a check may be refused: on the way to its answer it asks for *some* value of a
/// variable that a rule only tests (`d != Doc{"a"}`, `not closed(d)`); or several recursions that are not
/// linear read each other, and the statement would be larger than SQLite takes.
pub(crate) fn may_be_refused(kind: Kind) -> bool {
    kind == Kind::NotEnumerable || kind.is_too_large()
}

/// What a random policy may be refused for: a cycle through negation, a test of a variable without a type,
/// and negations with more cases than the limit.
const MISTAKES: [&str; 3] =
    ["depends on its own negation", "which may be of any type", "have too many cases to order"];

/// A disagreement.
pub(crate) struct Found {
    /// The question's text.
    pub(crate) question: String,
    /// The page that shows it.
    pub(crate) page: String,
}

/// The program of a sample; `None` if it has a mistake that the generator may make.
pub(crate) fn program(sample: &Sample) -> Result<Option<Program>, Found> {
    match policy::program(&sample.policy) {
        Ok(program) => Ok(Some(program)),
        Err(message) if MISTAKES.iter().any(|mistake| message.contains(mistake)) => Ok(None),
        Err(message) => Err(no_question(sample, &message)),
    }
}

/// The questions about a sample, all or the one of this text, and the values that all of them mention.
pub(crate) fn asked(
    sample: &Sample,
    program: &Program,
    only: Option<&str>,
) -> (Vec<(String, Question)>, Vec<Value>) {
    let mut questions = questions(program, &sample.words, sample.spelling);
    let values = questions.iter().flat_map(|(_, question)| mentioned(question)).collect();
    questions.retain(|(text, _)| only.is_none_or(|only| only == text));
    (questions, values)
}

/// Asks a share of the questions, or only the one of this text.
pub(crate) fn judge(sample: &Sample, tally: &Tally, only: Option<&str>) -> Result<(), Found> {
    count(&tally.policies);
    let Some(program) = program(sample)? else {
        count(&tally.refused_policies);
        return Ok(());
    };
    let (questions, values) = asked(sample, &program, only);
    let facts = sample.facts(&program);
    let now = portcullis::engine::unix_time();
    let Some(oracle) = Oracle::patient(&program, &facts, &values, now, PATIENCE) else {
        count(&tally.endless_policies);
        return Ok(());
    };
    let case = Case::new(sample, &program, &facts, &oracle, &questions, only.is_some());
    let case = case.map_err(|message| no_question(sample, &message))?;
    let many = ManyResources::new(sample, &program, &facts, &values, now);
    let many = many.map_err(|message| no_question(sample, &message))?;
    if many.is_none() {
        count(&tally.too_large);
    }
    let all: Vec<&Question> = questions.iter().map(|(_, question)| question).collect();
    let unmentioned = Unmentioned::new(sample, &oracle, &program, (&case.split, &values), &all, now);
    let unmentioned = unmentioned.map_err(|message| no_question(sample, &message))?;
    // By chance and not in turn: questions of a kind are at equal distances.
    let is_chosen = |number: usize, question: &Question| {
        let is_wide = matches!(Allow::of(question), Some(Allow::Actions(..)));
        let step = if is_wide { STEP_OF_ACTIONS } else { tally.step };
        next((number << 16 | sample.placing) as u64).is_multiple_of(step)
    };
    let chosen = questions
        .iter()
        .enumerate()
        .filter(|(number, (_, question))| only.is_some() || is_chosen(*number, question));
    for (number, (_, (text, question))) in chosen.enumerate() {
        let turn = if only.is_some() { None } else { Some(number + sample.placing) };
        let found = case.ask(question, turn, tally).map_err(|(expected, found)| Found {
            question: text.clone(),
            page: page(&sample.policy, &facts, text, &expected, &found),
        })?;
        if let Some(many) = &many {
            many.ask(question, turn, tally).map_err(|(expected, found)| Found {
                question: text.clone(),
                page: page(&sample.policy, &many.facts, text, &expected, &found),
            })?;
        }
        if let Some(unmentioned) = &unmentioned {
            unmentioned.ask(question, turn, &case.whole, tally).map_err(|(expected, found)| Found {
                question: text.clone(),
                page: page(&sample.policy, &facts, text, &expected, &found),
            })?;
        }
        if found {
            let is_list = matches!(Allow::of(question), Some(Allow::Actions(..)));
            let kinds = sample.kinds().into_iter().chain(case.local.kinds());
            tally.note_case(kinds.chain([("lists of actions", is_list)]));
        }
    }
    Ok(())
}

/// A sample that is wrong before any question.
pub(crate) fn no_question(sample: &Sample, message: &str) -> Found {
    Found { question: String::new(), page: format!("{message}\n\n{}", sample.policy) }
}

/// A policy with its facts in every place.
struct Case<'c> {
    program: &'c Program,
    oracle: &'c Oracle<'c>,
    /// All facts in the store.
    whole: Hosted,
    /// Those of the request in the request, all others in the store.
    parted: Hosted,
    split: Split,
    local: Local,
    returned: Option<Statements<'c>>,
}

/// The right answer, and what was found instead.
pub(crate) type Wrong = (String, String);

impl<'c> Case<'c> {
    fn new(
        sample: &Sample,
        program: &'c Program,
        facts: &[Fact],
        oracle: &'c Oracle<'c>,
        questions: &[(String, Question)],
        is_shrinking: bool,
    ) -> Result<Self, String> {
        let split = split::by_number(facts, sample.placing);
        let whole = Hosted::new(&sample.policy)?;
        whole.store(facts)?;
        let number = sample.placing / 5;
        let is_replicated = number.is_multiple_of(ON_REPLICA);
        let parted = if is_replicated {
            Hosted::replicated(&sample.policy)?
        } else {
            Hosted::in_turn(&sample.policy, number, ON_POSTGRES)?
        };
        parted.store(&split.stored)?;
        parted.store(&split.local)?;
        let parted = if is_replicated { parted.after_writes()? } else { parted };
        let asked: Vec<&Question> = questions.iter().map(|(_, question)| question).collect();
        let values = oracle.known();
        let mut local = Local::new(&sample.policy, program, &split, sample.placing, &values, &asked)?;
        local.verify(&split)?;
        local.alone = if is_shrinking { 1 } else { ALONE };
        let has_statements = is_shrinking || (sample.placing / 16).is_multiple_of(STATEMENTS);
        let returned =
            has_statements.then(|| Statements::new(program, facts, portcullis::engine::unix_time()));
        let returned = returned.transpose()?;
        Ok(Self { program, oracle, whole, parted, split, local, returned })
    }

    /// Asks every judge, in the way and the place of this turn or in all of them; returns whether all
    /// answered.
    fn ask(&self, question: &Question, turn: Option<usize>, tally: &Tally) -> Result<bool, Wrong> {
        let mut has_answers = true;
        let is_check = matches!(Allow::of(question), Some(Allow::Authorize(..)));
        for (way, found) in self.ask_engine(question, turn, tally) {
            tally.note(&found, is_check);
            has_answers &= matches!(found, Expected::Is(_));
            self.check(question, is_check, way, &found)?;
        }
        self.explain(question, turn, tally)?;
        self.explain_locally(question, turn, tally)?;
        if turn.is_none_or(|turn| turn.is_multiple_of(REVIEWED))
            && review::judge(&self.whole, self.oracle, question)?
        {
            count(&tally.reviewed);
        }
        if let Some(returned) = &self.returned
            && turn.is_none_or(|turn| turn.is_multiple_of(STATEMENTS))
        {
            for (way, found) in returned.ask_every_way(question) {
                count(&tally.statements);
                self.check(question, is_check, way, &found)?;
            }
        }
        let referee = Referee {
            program: self.program,
            oracle: self.oracle,
            question,
            hosted: &self.whole,
            context: &[],
        };
        let ways = ways(question);
        // Local SQL has no form for values of any type.
        let chosen = turn.and_then(|turn| turn.checked_rem(ways.len()));
        // Actions have the most alternatives over shared tables, and few questions ask for them.
        let is_asked = |at, way| chosen.is_none_or(|chosen| chosen == at) || way == Way::Actions;
        for (_, &way) in ways.iter().enumerate().filter(|(at, way)| is_asked(*at, **way)) {
            let is_place = |at, n| turn.is_none_or(|turn| turn / ways.len() % n == at);
            for asked in self.local.ask(question, way, is_place) {
                match &asked.found {
                    Expected::Refused(message) if self.local.is_mistaken(message) => count(&tally.mistaken),
                    Expected::Refused(_) => count(&tally.no_sql),
                    Expected::Is(_) => tally.note_local(asked.dialect(), &self.split),
                }
                has_answers &= matches!(asked.found, Expected::Is(_));
                if let Expected::Refused(told) = &asked.found
                    && told.kind.is_some_and(Kind::is_too_large)
                {
                    continue;
                }
                referee
                    .judge(&self.local, way, &asked.found)
                    .map_err(|expected| (expected, self.explained(question, way, &asked)))?;
            }
        }
        Ok(has_answers && !ways.is_empty())
    }

    /// Asks the engine: with all facts in its store, or with those of the split in the request.
    fn ask_engine(
        &self,
        question: &Question,
        turn: Option<usize>,
        tally: &Tally,
    ) -> Vec<(&'static str, Outcome)> {
        if self.parted.is_on_postgres() {
            count(&tally.on_postgres);
        }
        let before = self.parted.answered_by_replica();
        let context = self.split.request.as_slice();
        let answers = match turn {
            Some(turn) if !turn.is_multiple_of(EVERY_WAY) => {
                vec![self.parted.ask_one_way(question, context, turn)]
            }
            _ => {
                let mut asked = self.parted.ask_every_way(question, context);
                asked.extend(self.whole.ask_every_way(question, &[]));
                asked
            }
        };
        if self.parted.answered_by_replica() > before {
            count(&tally.on_replica);
        }
        answers
    }

    /// Lets the engine explain a share of the questions.
    fn explain(&self, question: &Question, turn: Option<usize>, tally: &Tally) -> Result<(), Wrong> {
        if turn.is_some_and(|turn| !turn.is_multiple_of(EXPLAINED)) {
            return Ok(());
        }
        self.explaining().judge(question, turn, &tally.explained)
    }

    /// Lets a local check be explained on one of the caller's databases, and judges what is said.
    fn explain_locally(&self, question: &Question, turn: Option<usize>, tally: &Tally) -> Result<(), Wrong> {
        let places = match turn {
            Some(turn) if !turn.is_multiple_of(EXPLAINED_LOCALLY) => return Ok(()),
            Some(turn) => turn / EXPLAINED_LOCALLY..turn / EXPLAINED_LOCALLY + 1,
            None => 0..DIALECTS.len(),
        };
        for place in places {
            let why = match self.local.why(question, place) {
                None => return Ok(()),
                Some(Err(told)) if told.kind.is_some_and(|kind| kind != Kind::Late) => {
                    count(&tally.unexplained_locally);
                    continue;
                }
                Some(Err(told)) if self.local.is_mistaken(&told.to_string()) => {
                    count(&tally.mistaken);
                    continue;
                }
                Some(Err(told)) => {
                    return Err(self.wrong(question, format!("the local explanation: {told}")));
                }
                Some(Ok(why)) => why,
            };
            let Self { program, oracle, split, .. } = self;
            let Split { stored, request: context, local: bound, .. } = split;
            let now = portcullis::engine::unix_time();
            let judge = Judge { program, oracle, stored, context, bound, now };
            self.explaining().check(question, turn, &judge, &why, &tally.explained)?;
            count(&tally.explained_locally);
        }
        Ok(())
    }

    fn wrong(&self, question: &Question, found: String) -> Wrong {
        (answer(self.oracle, question), found)
    }

    fn explaining(&self) -> Explaining<'_> {
        let Self { program, oracle, parted, split, .. } = self;
        Explaining { program, oracle, hosted: parted, split }
    }

    /// Judges an answer of the engine. A few may reach the time limit, which the tally limits: rules can pair
    /// everything with everything, several times.
    fn check(&self, question: &Question, is_check: bool, way: &str, found: &Outcome) -> Result<(), Wrong> {
        let agrees = match found {
            Expected::Is(Answer::Decision(decision)) => *decision == self.oracle.decision(question),
            Expected::Is(Answer::Rows(rows)) => self.oracle.agrees(question, rows),
            Expected::Refused(_) if is_late(found) => true,
            Expected::Refused(told) if is_check => told.kind.is_some_and(may_be_refused),
            // A statement that the compiler let pass must not be refused by the store's database.
            Expected::Refused(told) => told.kind.is_some_and(|kind| kind != Kind::StoreReadings),
        };
        if agrees { Ok(()) } else { Err((answer(self.oracle, question), format!("{way}: {found}"))) }
    }

    fn explained(&self, question: &Question, way: Way, asked: &Asked<'_>) -> String {
        let found = &asked.found;
        let explained = self.local.explained(question, way, asked);
        format!("{}: {way:?} on {}: {found}\n{explained}", self.local.name, asked.place())
    }
}
