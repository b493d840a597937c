//! Lists of passes, and what runs them.
//!
//! In: a list of passes, and what they rewrite: the program of a question, the plan of a statement, or the
//! filter that is printed from it. Out: the same, rewritten by each pass that applies, in their order. Each
//! list is in the module of its passes: see [`crate::rewrite`], [`crate::optimise`] and `local::filter`.

use crate::deadline::Deadline;
use crate::question::CompileError;

/// A representation that passes rewrite.
pub(crate) trait Rewritable: 'static {
    /// What the passes know in addition to what they rewrite.
    type Context<'c>;
    /// What a pass can declare that it keeps.
    type Keeps;

    /// When the passes must have ended.
    fn deadline(context: &Self::Context<'_>) -> Deadline;
}

/// One rewrite.
pub(crate) struct Pass<R: Rewritable> {
    /// Its name, as `explain` shows it.
    pub(crate) name: &'static str,
    /// Its effect, as `explain` describes it.
    pub(crate) does: &'static str,
    /// The statements it applies to.
    pub(crate) applies: fn(&R::Context<'_>) -> bool,
    /// What it keeps, by which its result is checked.
    pub(crate) keeps: R::Keeps,
    /// The rewrite itself. It may stop anywhere once the deadline is over.
    pub(crate) run: fn(&mut R, &R::Context<'_>),
}

/// What checks and observes the result of each pass.
type After<'a, R> = dyn FnMut(&'static Pass<R>, &R) -> Result<(), CompileError> + 'a;

/// Runs the passes that apply; `after` checks and observes the result of each.
///
/// # Errors
/// What `after` finds, and [`CompileError::OutOfTime`] if the deadline is over after a pass.
pub(crate) fn run<R: Rewritable>(
    passes: &'static [Pass<R>],
    rewritten: &mut R,
    context: &R::Context<'_>,
    after: &mut After<'_, R>,
) -> Result<(), CompileError> {
    for pass in passes.iter().filter(|pass| (pass.applies)(context)) {
        (pass.run)(rewritten, context);
        // A pass may have stopped half-way: nothing looks at what it left.
        R::deadline(context).check()?;
        after(pass, rewritten)?;
    }
    Ok(())
}
