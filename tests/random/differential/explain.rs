//! What the engine says to *why*, judged: a proof that the checker accepts, or reasons for a no and facts
//! that would change it.

use super::judge::{Wrong, may_be_refused};
use super::page::answer;
use super::tally::count;
use portcullis::engine::{FactOrigin, Verdict, Why, WhyAtom, WhyBy, WhyCondition};
use portcullis_compiler::ir::Program;
use portcullis_compiler::question::Question;
use portcullis_testkit::fixture::{Answer, Expected};
use portcullis_testkit::hosted::Hosted;
use portcullis_testkit::local::split::Split;
use portcullis_testkit::notation::{Fact, Value};
use portcullis_testkit::oracle::Oracle;
use portcullis_testkit::outcome::Outcome;
use portcullis_testkit::refusal::Kind;
use portcullis_testkit::why::Judge;
use std::cell::Cell as Counter;
use std::fmt;

/// Whether there may be no explanation of a question: a rule only tests a value, or it is refused anyway.
pub(crate) fn may_be_unexplained(kind: Kind) -> bool {
    may_be_refused(kind) || kind == Kind::NotExplainable
}

/// What explains, and what its explanations are held against.
pub(crate) struct Explaining<'e> {
    pub(crate) program: &'e Program,
    pub(crate) oracle: &'e Oracle<'e>,
    /// An engine whose store has all facts but those of the request.
    pub(crate) hosted: &'e Hosted,
    pub(crate) split: &'e Split,
}

/// Counts of explanations.
#[derive(Default)]
pub(crate) struct Explained {
    /// Questions with a proof, and with reasons for a no.
    pub(crate) proved: Counter<usize>,
    pub(crate) disproved: Counter<usize>,
    /// Sets of facts that would change a no.
    pub(crate) suggested: Counter<usize>,
    /// Questions that cannot be explained: a rule only tests a value.
    pub(crate) unexplained: Counter<usize>,
    /// Questions whose explanation ended at its limit with neither proof nor reasons.
    unknown: Counter<usize>,
    /// Proofs and noes with reasons that are not said to be complete.
    truncated: [Counter<usize>; 2],
    /// The steps of proofs: those that rules derive, facts of the store, facts of the request.
    steps: [Counter<usize>; 3],
    /// Negations in proofs.
    negations: Counter<usize>,
    /// How many proofs are of each height; the last are higher.
    heights: [Counter<usize>; 8],
}

impl Explaining<'_> {
    /// Lets the engine explain a question, and judges what it says. A turn chooses how its suggestions are
    /// asked; without one they are asked in every way.
    pub(crate) fn judge(
        &self,
        question: &Question,
        turn: Option<usize>,
        explained: &Explained,
    ) -> Result<(), Wrong> {
        let context = self.split.request.as_slice();
        let stored: Vec<Fact> = self.split.stored.iter().chain(&self.split.local).cloned().collect();
        let wrong = |found: String| (answer(self.oracle, question), found);
        let why = match self.hosted.why(question, context) {
            None => return Ok(()),
            Some(Err(told)) if told.kind.is_some_and(may_be_unexplained) => {
                count(&explained.unexplained);
                return Ok(());
            }
            Some(Err(told)) => return Err(wrong(format!("the explanation: {told}"))),
            Some(Ok(why)) => why,
        };
        let judge = Judge {
            program: self.program,
            oracle: self.oracle,
            stored: &stored,
            context,
            bound: &[],
            now: portcullis::engine::unix_time(),
        };
        self.check(question, turn, &judge, &why, explained)?;
        explained.note(&why);
        Ok(())
    }

    /// Judges an explanation, and asks the engine with the facts that it suggests.
    pub(crate) fn check(
        &self,
        question: &Question,
        turn: Option<usize>,
        judge: &Judge<'_>,
        why: &Why,
        explained: &Explained,
    ) -> Result<(), Wrong> {
        let wrong = |found: String| (answer(self.oracle, question), found);
        let judged = judge.judge(question, why);
        judged.map_err(|found| wrong(format!("the explanation: {found}\n{why:#?}")))?;
        let context = self.split.request.as_slice();
        for suggestion in &why.suggestions.sets {
            count(&explained.suggested);
            let facts = suggestion.iter().map(granted).collect::<Vec<Fact>>();
            let context: Vec<Fact> = context.iter().cloned().chain(facts).collect();
            let asked = match turn {
                Some(turn) => vec![self.hosted.ask_one_way(question, &context, turn)],
                None => self.hosted.ask_every_way(question, &context),
            };
            for (way, found) in asked {
                if !holds(&found) {
                    return Err(wrong(format!("{way}: {found}, even with {suggestion:?}")));
                }
            }
        }
        Ok(())
    }
}

/// Whether there is an answer. *Some value* may exist where not all can be listed.
fn holds(found: &Outcome) -> bool {
    match found {
        Expected::Is(Answer::Decision(decision)) => *decision,
        Expected::Is(Answer::Rows(rows)) => !rows.is_empty(),
        Expected::Refused(told) => told.kind.is_some_and(may_be_refused),
    }
}

/// A suggested fact.
fn granted(atom: &WhyAtom) -> Fact {
    let value =
        |ty: &Option<String>, id: &Option<String>| Value::new(ty.as_ref().unwrap(), id.as_ref().unwrap());
    let args = atom.args.iter().map(|arg| value(&arg.ty, &arg.id)).collect();
    Fact { predicate: atom.predicate.clone(), args }
}

impl Explained {
    fn note(&self, why: &Why) {
        let [of_proofs, of_noes] = &self.truncated;
        let (counted, truncated) = match why.explanation.verdict {
            Verdict::Holds => (&self.proved, of_proofs),
            Verdict::Fails => (&self.disproved, of_noes),
            Verdict::Unknown => return count(&self.unknown),
        };
        count(counted);
        if why.explanation.truncated {
            count(truncated);
        }
        if why.explanation.verdict == Verdict::Fails {
            return;
        }
        let [derived, stored, sent] = &self.steps;
        for step in &why.explanation.steps {
            match &step.by {
                WhyBy::Rule(instance) => {
                    count(derived);
                    let is_absent = |condition: &&WhyCondition| matches!(condition, WhyCondition::Absent(_));
                    instance.conditions.iter().filter(is_absent).for_each(|_| count(&self.negations));
                }
                WhyBy::Fact(FactOrigin::Stored | FactOrigin::Bound(_)) => count(stored),
                WhyBy::Fact(FactOrigin::Context) => count(sent),
            }
        }
        let height = why.explanation.steps.iter().map(|step| step.height).max().unwrap_or_default();
        self.heights.get(height).or(self.heights.last()).into_iter().for_each(count);
    }

    /// Fails if the proofs are all of one kind.
    pub(crate) fn check_shares(&self) {
        let holds =
            |part: &Counter<usize>, factor: usize, whole: &Counter<usize>| part.get() * factor >= whole.get();
        let [_, stored, sent] = &self.steps;
        assert!(holds(stored, 2, &self.proved), "too few steps are stored facts");
        assert!(holds(sent, 100, &self.proved), "too few steps are facts of the request");
        assert!(holds(&self.negations, 50, &self.proved), "too few proofs have a negation");
        let high = Counter::new(self.heights.iter().skip(3).map(Counter::get).sum());
        assert!(holds(&high, 20, &self.proved), "too few proofs are of height 3 or more");
        assert!(holds(&self.disproved, 10, &self.proved), "too few noes are explained");
        assert!(holds(&self.suggested, 20, &self.proved), "too few facts are suggested");
        assert!(!holds(&self.unexplained, 10, &self.proved), "too few questions can be explained");
        let [of_proofs, of_noes] = &self.truncated;
        assert!(!holds(of_proofs, 20, &self.proved), "too many proofs may not be the shortest");
        // On a busy machine it was one in six or seven.
        assert!(!holds(of_noes, 4, &self.disproved), "too many noes may have more reasons");
        assert!(
            !holds(&self.unknown, 20, &self.proved),
            "too many explanations end at their limit with nothing"
        );
    }
}

impl fmt::Display for Explained {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [derived, stored, sent] = self.steps.each_ref().map(Counter::get);
        let [of_proofs, of_noes] = self.truncated.each_ref().map(Counter::get);
        let heights: Vec<String> = self.heights.iter().map(|n| n.get().to_string()).collect();
        write!(
            f,
            "{} proofs ({of_proofs} truncated; of height 0, 1 and so on: {}; steps: {derived} by rules, \
             {stored} stored facts, {sent} of the request; {} negations), {} noes with reasons \
             ({of_noes} truncated), {} suggestions, {} without explanation, {} with nothing within the limit",
            self.proved.get(),
            heights.join(", "),
            self.negations.get(),
            self.disproved.get(),
            self.suggested.get(),
            self.unexplained.get(),
            self.unknown.get(),
        )
    }
}
