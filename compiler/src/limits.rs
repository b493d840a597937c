//! Every bound of the compiler that its users can reach, with its reason.
//!
//! The budget of a single pass, beyond which it leaves a program as it is, is in the file of the pass. What a
//! database bounds is in its row of [`crate::dialect`].
//!
//! Policies are untrusted input. Each bound is far above what people write, and low enough that the
//! worst text within it is still read quickly and with little memory.

/// Bytes of policy text. Real policies stay below 100 kB.
pub const SOURCE_BYTES: usize = 1_000_000;

/// Seconds for which checks of a policy are tried, to tell its author if none can be answered. The largest
/// real policies take less than one.
pub const FITNESS_SECONDS: u64 = 20;

/// Nested brackets, and `not`s before one condition. The passes recurse on expressions, and a thread of the
/// service has 2 MB of stack.
pub const NESTING: usize = 64;

/// Findings shown for one policy. More is not useful at once, and drawing them costs time.
pub const DIAGNOSTICS: usize = 50;

/// Bytes of text that one finding is drawn over. The renderer is slow on long lines; a finding that
/// needs more names its places by line and column.
pub const DRAWN_BYTES: usize = 16_000;

/// Rules of a policy, shorthand spelled out. Keeps planning a question far below a second.
pub const RULES: usize = 50_000;

/// Parameters of a predicate. Each becomes a column; real predicates have up to four.
pub const PARAMETERS: usize = 32;

/// Steps and rule copies of specialising one question, long rules by their [size](COPY_SIZE). The largest
/// real policies need a few thousand.
pub const SPECIALISATION_STEPS: usize = 200_000;

/// A copy of a rule counts once more for every this many of its variables and conditions: a copy of a rule
/// with thousands takes hundreds of kilobytes. Real rules have fewer than twenty.
pub const COPY_SIZE: usize = 8;

/// Ways in which the negated atoms of all copies of rules of one question could hold. Each becomes a goal.
pub const DENIALS: usize = 1_000_000;

/// Selects into which one body may be split. Every database accepts that many in one union.
pub const SELECTS: usize = 256;

/// Branches, planned in all. Beyond a quarter of it, what several branches need becomes a shared table.
pub const BRANCHES: usize = 4_000;

/// Nested branches; a deeper test becomes a table. Recent versions of every database accept twice
/// as many.
pub const NESTED_BRANCHES: usize = 10;

/// The same limit for the plan that is tried after a statement overflowed a parser's stack of fixed size.
pub const FEW_NESTED_BRANCHES: usize = 3;

/// Nested bodies that are planned: the planner recurses, and a thread has 2 MB of stack.
pub const DEPTH: usize = 64;

/// Common table expressions of one statement. Every database accepts that many, but the time in which
/// PostgreSQL plans a chain of them grows with the cube of their number: 3 s for this many.
pub const TABLES: usize = 400;

/// Conditions of one rule. The checks of what binds a variable grow with their square.
pub const CONDITIONS: usize = 5_000;

/// Alternatives into which the `or`s of one condition are distributed; beyond it a disjunction becomes a
/// predicate of its own. Real rules have a handful.
pub const ALTERNATIVES: usize = 64;

/// Literals, variables and admitted types of all rules together; bounds the memory of a program where
/// many rules refer to an abstract type with many subtypes.
pub const RULE_WEIGHT: usize = 4_000_000;

/// Inherited names and supertypes of all blocks together; bounds long chains of `extends`.
pub const INHERITED: usize = 500_000;

/// Facts of all tests together, those of a fixture counted in each test that uses it.
pub const TEST_FACTS: usize = 100_000;

/// Alternatives into which the calls of one body may be distributed; what would split it further becomes a
/// table of its own.
pub const SPLITS: usize = 16;

/// Sources and goals of a body. A longer body first stores its intermediate result in a table: relations that
/// each call several others, inlined into each other, make a join whose duplicates grow exponentially with
/// its length.
pub const BODY: usize = 10;

/// Sources after which a body that is too long stores its intermediate result. A table that joins at least
/// this many is printed with `DISTINCT`; shorter joins rarely repeat rows.
pub const LONG_JOIN: usize = 5;

/// Sources of one plan, those of a table counted wherever it is read. A plan with more is tried after a
/// smaller one. Every database accepts this many next to those of a caller's statement around a filter.
pub const TABLE_READINGS: usize = 960;

/// With at most this many embedded values of stored facts, the alternative plan is not evaluated.
pub const FEW_VALUES: usize = 16;

/// Maximum number of inclusions between relations that are searched for in a question's program. Real
/// policies stay below a few hundred; what is not found is called instead of unfolded.
pub const INCLUSIONS: usize = 200_000;

/// Clauses that unfolding gathers in all; a relation that would exceed it calls what it includes.
pub const UNFOLDED_CLAUSES: usize = 100_000;

/// Bytes of a data-bindings document. Real ones stay below 50 kB.
pub const BINDINGS_BYTES: usize = 1_000_000;

/// Nested mappings and sequences in a data-bindings document, those behind an alias included.
/// What we read of it has three levels.
pub const BINDINGS_DEPTH: usize = 32;

/// Bound facts of one document. A policy has a few dozen predicates and relations.
pub const BINDINGS_FACTS: usize = 2_000;

/// Characters of a key in a data-bindings document. YAML's own bound for plain keys is 1,024, too few for a
/// signature with many long types.
pub const BINDINGS_KEY_LENGTH: usize = 8_192;

/// Bytes of a bound query. It is part of every statement that uses it.
pub const QUERY_BYTES: usize = 64_000;

/// Words, values and signs of a bound query. A chain of them, as in `a OR b OR …`, becomes a tree of as many
/// levels, which must not fill a thread's stack of 2 MB when it is dropped.
pub const QUERY_TOKENS: usize = 8_000;

/// Nested brackets in a bound query.
pub const QUERY_NESTING: usize = 64;

/// Joins of a bound query, with those of its subqueries, for every database: the reader nests a join without
/// its condition in the one before. What a database takes in one select (SQLite 63) it reports itself.
pub const QUERY_JOINS: usize = 100;

/// Levels of calls within the reader of SQL; each bracket takes two or three.
pub const QUERY_RECURSION: usize = 256;

/// Bytes of stack on which the caller's SQL is read, twice what the deepest text within the limits needs.
pub const READER_STACK: usize = 16 << 20;
