//! The active policy of an environment, as far as this release understands it.

use crate::engine::{Engine, EngineError};
use portcullis_compiler::ir::Program;
use portcullis_compiler::source::SourceMap;

/// The message before the first policy.
pub(super) const NO_POLICY: &str = "there is no policy yet: see `portcullis policy push`";

/// The active policy.
pub(super) enum ActivePolicy {
    /// This one.
    Known(Box<Program>),
    /// There is none yet.
    None,
    /// One that this release does not understand.
    Foreign,
}

impl ActivePolicy {
    /// The policy with this name and text, which was accepted once; `None` before the first one.
    pub(super) fn of(stored: Option<(&str, &str)>) -> Self {
        let Some((filename, src)) = stored else { return Self::None };
        let program = portcullis_compiler::check(&SourceMap::new(filename, src)).program;
        program.map_or(Self::Foreign, |program| Self::Known(Box::new(program)))
    }

    /// The policy of an engine.
    pub(super) async fn of_engine(engine: &Engine) -> Result<Self, EngineError> {
        let stored = engine.policy(None).await?;
        Ok(Self::of(stored.as_ref().map(|stored| (&*stored.version.filename, &*stored.src))))
    }
}
