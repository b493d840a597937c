//! A disagreement as a page of conformance fixtures: the policy, the facts, the question, and the right
//! answer.

use portcullis_compiler::question::Question;
use portcullis_testkit::fixture::Answer;
use portcullis_testkit::notation::Fact;
use portcullis_testkit::oracle::Oracle;
use portcullis_testkit::outcome::{Outcome, given};
use std::fmt::Write;

/// The page. What was found is above its title.
pub(crate) fn page(policy: &str, facts: &[Fact], query: &str, answer: &str, found: &str) -> String {
    let mut page = format!("{found}\n\n# A title\n\nA sentence.\n\n```policy\n{policy}```\n\n```facts\n");
    facts.iter().for_each(|fact| writeln!(page, "{fact}").unwrap());
    write!(
        page,
        "```\n\n## a heading\n\nWhy.\n\n| query | answer |\n| --- | --- |\n| {query} | {answer} |\n"
    )
    .unwrap();
    page
}

/// The oracle's answer, as a page writes it.
pub(crate) fn answer(oracle: &Oracle<'_>, question: &Question) -> String {
    if question.vars.iter().all(|var| given(var).is_some()) {
        return Outcome::Is(Answer::Decision(oracle.decision(question))).to_string();
    }
    oracle.answers(question).map_or_else(|| "refused: ".to_owned(), |rows| Answer::Rows(rows).to_string())
}
