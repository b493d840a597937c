//! A policy with facts, and explanations as text.

use crate::catalog::{Catalog, Relation, RelationArg, RelationSource, SourceId};
use crate::check;
use crate::deadline::Deadline;
use crate::ir::Program;
use crate::question::{Question, QuestionVar, Shape};
use crate::source::SourceMap;
use crate::why::{
    Budget, By, Explanation, Lack, MetCondition, Reasons, Rows, Rules, Step, StepId, SuggestionSearch,
    Verdict, WhyError,
};
use std::collections::BTreeMap;
use std::fmt::Write;

/// A policy with facts.
pub(super) struct Bench {
    pub(super) program: Program,
    catalog: Catalog,
    rows: Vec<Vec<Vec<String>>>,
    pub(super) budget: Budget,
}

/// The facts of a [`Bench`], and how often they were read.
pub(super) struct Read<'b> {
    rows: &'b [Vec<Vec<String>>],
    pub(super) n_reads: usize,
}

impl Rows for Read<'_> {
    type Error = String;

    fn rows(
        &mut self,
        relation: SourceId,
        _of: &Relation,
        bound: &[Option<&str>],
        most: usize,
    ) -> Result<Vec<Vec<String>>, String> {
        self.n_reads += 1;
        let is_asked = |row: &&Vec<String>| {
            row.iter().zip(bound).all(|(text, bound)| bound.is_none_or(|bound| bound == text))
        };
        let rows = self.rows.get(relation.index()).ok_or("no such relation")?;
        Ok(rows.iter().filter(is_asked).take(most).cloned().collect())
    }
}

/// `User:ada`, `"read"` or `7` as a type and a text.
pub(super) fn value(text: &str) -> (String, String) {
    match text.split_once(':') {
        Some((ty, id)) => (ty.into(), id.into()),
        None if text.starts_with('"') => ("String".into(), text.trim_matches('"').into()),
        None => ("Integer".into(), text.into()),
    }
}

/// The name and the arguments of `p(User:ada, "read")`.
fn atom(text: &str) -> (&str, Vec<&str>) {
    let (name, args) = text.trim().split_once('(').unwrap();
    let args = args.strip_suffix(')').unwrap();
    (name, args.split(',').map(str::trim).filter(|arg| !arg.is_empty()).collect())
}

impl Bench {
    /// Facts are given one a line.
    pub(super) fn new(policy: &str, facts: &str) -> Self {
        let checked = check(&SourceMap::new("policy.polar", policy));
        let program = checked.program.unwrap_or_else(|| panic!("{:#?}", checked.diagnostics));
        let mut by_kind: BTreeMap<(String, Vec<String>), Vec<Vec<String>>> = BTreeMap::new();
        for line in facts.lines().filter(|line| !line.trim().is_empty()) {
            let (name, args) = atom(line);
            let (types, ids) = args.into_iter().map(value).unzip();
            by_kind.entry((name.to_owned(), types)).or_default().push(ids);
        }
        let column = |ty: String| RelationArg::Column { ty, column: String::new() };
        let (mut catalog, mut rows) = (Catalog::default(), Vec::new());
        for ((predicate, types), held) in by_kind {
            let args = types.into_iter().map(column).collect();
            let source = RelationSource::Table { schema: None, name: String::new() };
            catalog.relations.push(Relation { predicate, args, source });
            rows.push(held);
        }
        Self { program, catalog, rows, budget: Budget::default() }
    }

    /// The reasons for a question of one predicate; `Type:?` asks for a value.
    pub(super) fn reasons(&self, question: &str) -> Reasons {
        self.read(question).0
    }

    /// The same, and how many reads it took.
    pub(super) fn read(&self, question: &str) -> (Reasons, usize) {
        let (name, args) = atom(question);
        let var = |(at, arg): (usize, &&str)| {
            if let Some(ty) = arg.strip_suffix(":?") {
                return QuestionVar::wanted(&format!("v{at}"), Some(ty));
            }
            let (ty, id) = value(arg);
            QuestionVar::given(&format!("v{at}"), &ty, &id)
        };
        let question = Question::atom(name, args.iter().enumerate().map(var).collect());
        let shape = Shape::of(&self.program, &question);
        let rules = Rules::new(&self.program, &self.catalog, &shape, Deadline::NEVER).unwrap();
        let mut read = Read { rows: &self.rows, n_reads: 0 };
        let found: Result<Reasons, WhyError<String>> = rules.explain(
            &self.program,
            &question,
            1_000,
            &mut read,
            self.budget,
            Some(SuggestionSearch::new(5)),
        );
        (found.unwrap(), read.n_reads)
    }

    /// The reasons as text.
    pub(super) fn why(&self, question: &str) -> String {
        let Reasons { explanation, suggestions } = self.reasons(question);
        let mut text = self.text(&explanation);
        for suggestion in suggestions.sets {
            let facts: Vec<String> = suggestion.iter().map(ToString::to_string).collect();
            let _ = writeln!(text, "with {}", facts.join(" and "));
        }
        if suggestions.truncated {
            text.push_str("perhaps with others\n");
        }
        text
    }

    fn text(&self, explanation: &Explanation) -> String {
        let mut text = String::new();
        match explanation.verdict {
            Verdict::Holds => {
                for &step in &explanation.proof {
                    self.step(explanation, step, 0, &mut text);
                }
            }
            Verdict::Fails | Verdict::Unknown => self.failure(explanation, &mut text),
        }
        if explanation.truncated {
            text.push_str("(truncated)\n");
        }
        text
    }

    fn step(&self, explanation: &Explanation, step: StepId, depth: usize, text: &mut String) {
        let Step { atom, height, by } = &explanation.steps[step];
        let indent = "  ".repeat(depth);
        match by {
            By::Fact(_) => writeln!(text, "{indent}{atom} fact").unwrap(),
            By::Rule(instance) => {
                let line = self.line(Some(instance.rule));
                writeln!(text, "{indent}{atom} {line}, height {height}").unwrap();
                for met in &instance.conditions {
                    match met {
                        MetCondition::Step(step) => self.step(explanation, *step, depth + 1, text),
                        other => writeln!(text, "{indent}  {}", condition(other)).unwrap(),
                    }
                }
            }
        }
    }

    fn line(&self, rule: Option<crate::ir::RuleId>) -> String {
        let Some(rule) = rule else { return "question".into() };
        let rule = &self.program.rules[rule];
        if rule.span.start == rule.span.end {
            return "implied".into();
        }
        format!("line {}", self.program.source.locate(rule.span).line)
    }

    /// Each failed goal, with what each rule lacks.
    fn failure(&self, explanation: &Explanation, text: &mut String) {
        for (at, goal) in explanation.failures.iter().enumerate() {
            let atom = goal.atom.as_ref().map(ToString::to_string).unwrap_or_default();
            let fact = if goal.may_be_fact { ", no fact" } else { "" };
            writeln!(text, "{at}: {atom}{fact}").unwrap();
            for attempt in &goal.attempts {
                let met: Vec<String> = attempt.met.iter().map(condition).collect();
                let lacks = match &attempt.lacks {
                    Lack::Fact(atom) => format!("{atom}"),
                    Lack::Goal(goal) => format!("goal {}", goal.index()),
                    Lack::Refuted(step) => {
                        let mut proof = String::new();
                        self.step(explanation, *step, 0, &mut proof);
                        format!("refuted by {}", proof.trim_end().replace('\n', ";"))
                    }
                    Lack::Test(test) => test.clone(),
                };
                let line = self.line(attempt.rule);
                writeln!(text, "   {line}: has [{}], lacks {lacks}", met.join("; ")).unwrap();
            }
            if goal.n_others > 0 {
                writeln!(text, "   and {} others", goal.n_others).unwrap();
            }
        }
    }
}

fn condition(condition: &MetCondition) -> String {
    match condition {
        MetCondition::Step(_) => String::new(),
        MetCondition::Holds(atom) => atom.to_string(),
        MetCondition::Absent(atom) => format!("not {atom}"),
        MetCondition::Test(test) => test.clone(),
    }
}
