//! Every bound of the compiler, with its reason.
//!
//! A policy comes from a stranger. Each bound is far above what people write, and low enough that the
//! worst text within it is still read quickly and with little memory.

/// Bytes of policy text. Real policies stay below 100 kB.
pub const SOURCE_BYTES: usize = 1_000_000;

/// Brackets, and `not`s before one condition, inside each other. The passes recurse on expressions,
/// and a thread of the service has 2 MB of stack.
pub const NESTING: usize = 64;

/// Findings shown for one policy. Nobody reads more at once, and drawing them costs time.
pub const DIAGNOSTICS: usize = 50;

/// Rules of a policy, shorthand spelled out. Keeps planning a question far below a second.
pub const RULES: usize = 50_000;

/// Parameters of a predicate. Each becomes a column; real predicates have up to four.
pub const PARAMETERS: usize = 32;

/// Rule copies that specialising one question may make. The largest real policies need a few thousand.
pub const SPECIALISATION_STEPS: usize = 200_000;

/// Selects into which one body may be split. SQLite takes 500 in one union.
pub const ALTERNATIVES: usize = 256;
