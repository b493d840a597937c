//! Answers about many at a time: lists in pages, and checks of many resources in one request.
//!
//! The lists of a random policy are short, so some resources are copied here: of each fact that names one
//! there is another for every copy, whose ids are of all forms that the store has. Lists of the policy are
//! then read in pages, and resources, known ones and others, are checked as one request. The oracle is told
//! of the copies and asked about each of them alone.

use super::judge::{ON_POSTGRES, Wrong, may_be_refused};
use super::next;
use super::page::answer;
use super::tally::{Tally, count, is_late};
use portcullis_compiler::ir::Program;
use portcullis_compiler::question::{Question, QuestionVar};
use portcullis_testkit::domain::FOREIGN;
use portcullis_testkit::fixture::{Answer, Expected};
use portcullis_testkit::generate::Sample;
use portcullis_testkit::hosted::{FAULT, Hosted};
use portcullis_testkit::id_order::is_in_order;
use portcullis_testkit::local::split;
use portcullis_testkit::notation::{Fact, Value};
use portcullis_testkit::oracle::Oracle;
use portcullis_testkit::outcome::{Allow, Outcome, ids};
use portcullis_testkit::refusal::NoAnswer;
use std::collections::BTreeSet;

/// The ids of the copies.
const COPIES: [&str; 11] = [
    "10",
    "9",
    "-11",
    "09",
    "01994a5e-8f2b-7c31-9d4e-5b6a7c8d9e0f",
    "01994a5e-8f2b-7c31-9d4e-5b6a7c8d9e10",
    "01994A5E-8F2B-7C31-9D4E-5B6A7C8D9E0F",
    "\u{1}copy",
    "copy",
    "#copy",
    "ça",
];

/// Of the lists of other types one in `OTHER_TYPES` is read in pages, too.
const OTHER_TYPES: usize = 3;

/// The largest page.
const MOST_PAGE: usize = 7;

/// The most resources of one request.
const MOST_RESOURCES: u64 = 12;

/// How many requests with other resources a question gets on its way to a smaller policy.
const TRIES: usize = 16;

/// How many assignments the oracle tries for one policy.
const PATIENCE: u64 = 10_000_000;

/// A policy with the facts of many resources.
pub(crate) struct ManyResources<'c> {
    oracle: Oracle<'c>,
    hosted: Hosted,
    /// What is in the request.
    context: Vec<Fact>,
    /// What may be asked about.
    resources: Vec<Value>,
    /// The type with copies.
    ty: &'static str,
    /// All facts, for a person.
    pub(crate) facts: Vec<Fact>,
}

impl<'c> ManyResources<'c> {
    /// Copies resources, for every judge; `None` if it is too much for the oracle.
    pub(crate) fn new(
        sample: &Sample,
        program: &'c Program,
        facts: &[Fact],
        mentioned: &[Value],
        now: i64,
    ) -> Result<Option<Self>, String> {
        let types: Vec<&'static str> = sample.words.resources().map(|block| block.name).collect();
        // The first is copied most often.
        let at = sample.placing % (types.len() + 1);
        let ty = *types.get(at).or(types.first()).ok_or("a policy has resources")?;
        let facts = with_copies(facts, ty);
        let Some(oracle) = Oracle::patient(program, &facts, mentioned, now, PATIENCE) else {
            return Ok(None);
        };
        let split = split::by_number(&facts, sample.placing);
        let hosted = Hosted::in_turn(&sample.policy, sample.placing / 5, ON_POSTGRES)?;
        hosted.store(&split.stored)?;
        hosted.store(&split.local)?;
        let is_primitive = |value: &Value| matches!(value.ty.as_str(), "String" | "Integer" | "Boolean");
        let all = oracle.known().into_iter().chain(oracle.all_of(&[FOREIGN]));
        let resources = all.filter(|value| !is_primitive(value)).collect();
        Ok(Some(Self { oracle, hosted, context: split.request, resources, ty, facts }))
    }

    /// Asks about a list of the copied type in pages, and about resources that are on it or not. A turn
    /// chooses how; without one it is asked in many ways.
    pub(crate) fn ask(&self, question: &Question, turn: Option<usize>, tally: &Tally) -> Result<(), Wrong> {
        let (actor, action, ty) = match Allow::of(question) {
            Some(Allow::List(actor, action, ty)) => (actor, action, ty),
            Some(Allow::Subjects(ty, action, resource)) => {
                let size = 1 + turn.unwrap_or(0) % MOST_PAGE;
                return self
                    .ask_subject_pages(question, (&ty, &action, &resource), size, tally)
                    .map_err(|found| (answer(&self.oracle, question), format!("pages of {size}: {found}")));
            }
            Some(Allow::Authorize(..) | Allow::Actions(..)) | None => return Ok(()),
        };
        // Lists of other types are short, and their pages are few.
        if ty != self.ty && turn.is_some_and(|turn| !turn.is_multiple_of(OTHER_TYPES)) {
            return Ok(());
        }
        let wrong = |found: String| (answer(&self.oracle, question), found);
        let sizes: Vec<usize> = turn.map_or((1..=MOST_PAGE).collect(), |turn| vec![1 + turn % MOST_PAGE]);
        for size in sizes {
            self.ask_pages(question, (&actor, &action, &ty), size, tally)
                .map_err(|found| wrong(format!("pages of {size}: {found}")))?;
        }
        let turns: Vec<usize> = turn.map_or((0..TRIES).collect(), |turn| vec![turn]);
        let bulks = turns.into_iter().map(|turn| self.bulk(turn));
        let everything = turn.is_none().then(|| self.resources.clone());
        for asked in bulks.chain(everything) {
            self.ask_bulk(&actor, &action, &asked, tally).map_err(wrong)?;
        }
        Ok(())
    }

    /// Every page but the last is full, the ids are in order over all of them, each once, and together they
    /// are the list. If the pages are refused, so is the list.
    fn ask_pages(
        &self,
        question: &Question,
        list: (&Value, &str, &str),
        size: usize,
        tally: &Tally,
    ) -> Result<(), String> {
        let pages = match self.hosted.ask_pages(list, size, &self.context) {
            Ok(pages) => pages,
            Err(message) => {
                count(&tally.refused_pages);
                let (actor, action, ty) = list;
                let whole = Allow::List(actor.clone(), action.to_owned(), ty.to_owned());
                let whole = self.hosted.ask_allow(&whole, &self.context);
                return refused_alike(&message, &whole, tally);
            }
        };
        let all = pages.concat();
        tally.note_pages(pages.len(), all.iter().any(|id| id == "*"));
        let (last, others) = pages.split_last().ok_or("no page at all")?;
        let is_cut_well = others.iter().all(|page| page.len() == size)
            && last.len() <= size
            && (others.is_empty() || !last.is_empty());
        let is_list =
            matches!(ids(list.2, all.clone()), Answer::Rows(rows) if self.oracle.agrees(question, &rows));
        if is_cut_well && is_in_order(&all) && is_list { Ok(()) } else { Err(format!("{pages:?}")) }
    }

    /// The same of the actors that may act on a resource.
    fn ask_subject_pages(
        &self,
        question: &Question,
        list: (&Option<String>, &str, &Value),
        size: usize,
        tally: &Tally,
    ) -> Result<(), String> {
        let (sizes, all) = match self.hosted.ask_subject_pages(list, size, &self.context) {
            Ok(pages) => pages,
            Err(message) => {
                count(&tally.refused_pages);
                let (ty, action, resource) = list;
                let whole = Allow::Subjects(ty.clone(), action.to_owned(), resource.clone());
                let whole = self.hosted.ask_allow(&whole, &self.context);
                return refused_alike(&message, &whole, tally);
            }
        };
        tally.note_subject_pages(sizes.len());
        let (last, others) = sizes.split_last().ok_or("no page at all")?;
        let is_cut_well =
            others.iter().all(|n| *n == size) && *last <= size && (others.is_empty() || *last > 0);
        let is_list = matches!(&all, Answer::Rows(rows) if self.oracle.agrees(question, rows));
        if is_cut_well && is_list { Ok(()) } else { Err(format!("{sizes:?} {all}")) }
    }

    /// Those of the resources pass that the oracle lets pass: in their order, as often as they are named.
    fn ask_bulk(&self, actor: &Value, action: &str, asked: &[Value], tally: &Tally) -> Result<(), String> {
        let allowed = |resource: &&Value| self.oracle.decision(&check(actor, action, resource));
        let expected: Vec<Value> = asked.iter().filter(allowed).cloned().collect();
        let found = self.hosted.filter(actor, action, asked, &self.context);
        tally.note_bulk(asked, found.as_ref().ok().map(Vec::len));
        let is_right = match &found {
            Ok(found) => *found == expected,
            Err(told) => told.kind.is_some_and(may_be_refused),
        };
        if is_right {
            return Ok(());
        }
        let [asked, expected] = [asked, &expected].map(shown);
        let found = found.as_deref().map_or_else(NoAnswer::to_string, shown);
        Err(format!("of the resources {asked} there pass {found}, and not {expected}"))
    }

    /// Some of the resources; now and then all of them twice.
    fn bulk(&self, turn: usize) -> Vec<Value> {
        let mut random = next(turn as u64);
        let mut below = |n: u64| {
            random = next(random);
            random % n
        };
        let n = 1 + below(MOST_RESOURCES);
        let n_known = self.resources.len() as u64;
        let mut one = || self.resources.get(usize::try_from(below(n_known)).ok()?);
        let mut bulk: Vec<Value> = (0..n).filter_map(|_| one().cloned()).collect();
        if turn.is_multiple_of(4) {
            bulk.extend_from_within(..);
        }
        bulk
    }
}

/// The facts, and each that names a resource once more for its copies, which are dealt out to the resources
/// in turn.
fn with_copies(facts: &[Fact], ty: &str) -> Vec<Fact> {
    let args = facts.iter().flat_map(|fact| &fact.args).filter(|value| value.ty == ty);
    let originals: BTreeSet<&Value> = args.collect();
    let mut all: BTreeSet<Fact> = facts.iter().cloned().collect();
    for (id, original) in COPIES.iter().zip(originals.iter().cycle()) {
        for fact in facts.iter().filter(|fact| fact.args.contains(*original)) {
            let mut copy = fact.clone();
            copy.args
                .iter_mut()
                .filter(|arg| **arg == **original)
                .for_each(|arg| (*id).clone_into(&mut arg.id));
            all.insert(copy);
        }
    }
    all.into_iter().collect()
}

/// The check of a resource.
fn check(actor: &Value, action: &str, resource: &Value) -> Question {
    let given = |name: &str, value: &Value| QuestionVar::given(name, &value.ty, &value.id);
    let action = QuestionVar::given("action", "String", action);
    Question::atom("allow", vec![given("actor", actor), action, given("resource", resource)])
}

fn shown(values: &[Value]) -> String {
    values.iter().map(Value::to_string).collect::<Vec<_>>().join(", ")
}

/// Whether a list is refused that was refused in pages, which is right but for a bug.
fn refused_alike(message: &NoAnswer, whole: &Outcome, tally: &Tally) -> Result<(), String> {
    let is_late = is_late(whole);
    if is_late {
        count(&tally.late);
    }
    let is_refused = matches!(whole, Expected::Refused(_)) && (is_late || !message.starts_with(FAULT));
    if is_refused { Ok(()) } else { Err(format!("{message}, and the whole is {whole}")) }
}
