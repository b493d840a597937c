//! Lists of passes, and what runs them.
//!
//! In: a list of passes, and what they rewrite: the program of a question, the plan of a statement, or the
//! filter that is printed from it. Out: the same, rewritten by each pass that applies, in their order. Each
//! list is in the module of its passes: see [`crate::rewrite`], [`crate::optimise`] and `local::filter`.

/// A representation that passes rewrite.
pub(crate) trait Rewritable: 'static {
    /// What the passes know in addition to what they rewrite.
    type Context<'c>;
    /// What a pass can declare that it keeps.
    type Keeps;
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
    /// The rewrite itself.
    pub(crate) run: fn(&mut R, &R::Context<'_>),
}

/// What checks and observes the result of each pass.
type After<'a, R, E> = dyn FnMut(&'static Pass<R>, &R) -> Result<(), E> + 'a;

/// Runs the passes that apply; `after` checks and observes the result of each.
///
/// # Errors
/// What `after` finds.
pub(crate) fn run<R: Rewritable, E>(
    passes: &'static [Pass<R>],
    rewritten: &mut R,
    context: &R::Context<'_>,
    after: &mut After<'_, R, E>,
) -> Result<(), E> {
    for pass in passes.iter().filter(|pass| (pass.applies)(context)) {
        (pass.run)(rewritten, context);
        after(pass, rewritten)?;
    }
    Ok(())
}
