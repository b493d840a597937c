//! Reviews: all actions and values between an actor and a type, or between a type and a resource.

use super::judge::Wrong;
use super::page::answer;
use portcullis::engine::Reviewed;
use portcullis::store::Value as Stored;
use portcullis_compiler::question::{Domain, Question, QuestionVar};
use portcullis_testkit::fixture::Answer;
use portcullis_testkit::hosted::Hosted;
use portcullis_testkit::notation::Value;
use portcullis_testkit::oracle::Oracle;
use portcullis_testkit::outcome::Allow;
use portcullis_testkit::refusal::NoAnswer;

/// Reviews what a list of the entry point is about: all rows are those of the oracle, or something is
/// refused. Returns whether it was compared.
pub(crate) fn judge(hosted: &Hosted, oracle: &Oracle<'_>, question: &Question) -> Result<bool, Wrong> {
    let (about, ty) = match Allow::of(question) {
        Some(Allow::List(actor, _, ty)) => (Reviewed::Actor(stored(&actor)), ty),
        Some(Allow::Subjects(Some(ty), _, resource)) => (Reviewed::Resource(stored(&resource)), ty),
        Some(Allow::Subjects(None, ..) | Allow::Authorize(..) | Allow::Actions(..)) | None => {
            return Ok(false);
        }
    };
    let mut all = question.clone();
    if let Some(action) = all.vars.iter_mut().nth(1) {
        *action = QuestionVar { name: "action".into(), ty: Some("String".into()), domain: Domain::Wanted };
    }
    let wrong = |found: String| (answer(oracle, &all), format!("a review: {found}"));
    match hosted.review(&about, &ty) {
        Ok(Some(rows)) if oracle.agrees(&all, &rows) => Ok(true),
        Ok(Some(rows)) => Err(wrong(Answer::Rows(rows).to_string())),
        Ok(None) => Ok(false),
        Err(told) => Err(wrong(NoAnswer::to_string(&told))),
    }
}

fn stored(value: &Value) -> Stored {
    Stored { ty: value.ty.clone(), id: value.id.clone() }
}
