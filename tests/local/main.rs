//! The contract of the SQL that a local check returns, line by line, on a real PostgreSQL and on SQLite.
//!
//! Each test takes one promise of the contract, runs the SQL as a caller would, and looks at rows, names and
//! types; `forms` has the four answers, `filters` every place where a filter may stand, `text` what no text
//! may hold, `types` how ids are compared, `recursion` the same through fixpoints, `ids` what strangers may
//! send, `templates` which questions share a printed text, `columns` what the caller's columns may hold,
//! `declared` that no declared type changes an answer, `caseless` that `citext` does not, `checked` that
//! `bindings check` reports every declaration that does, `assumed` and `session` what else the list of
//! assumptions says, `constants` what the keys of the bindings name, `limits` how long a text may get,
//! `held` that it has stored facts once, `starting_end` from where they are read, `subjects` filters over
//! actors, `listed` what a filter lists once, `repeated` rules that say the same thing twice, `catalogue`
//! the kinds of rules, `patterns` what each becomes in a filter, `pattern_plans` how PostgreSQL runs it,
//! `jit` that it compiles none of them, `bloom_filters` that SQLite reads no whole table to make one,
//! `embeddings` the same in every statement that may hold one, `row_security` in policies of PostgreSQL,
//! `before` which filters see a row as it was before the statement, `nested_folders` the same of folders in
//! folders,
//! `explained` what `/explain_query` says of a text, `whole_state` rules that read their own result twice,
//! `applications` how long the texts for whole applications are. The shape of the most usual texts is kept
//! under `snapshots/local`.

#![expect(clippy::unwrap_used, clippy::panic, reason = "a test that cannot go on should stop where it is")]
#![expect(clippy::indexing_slicing, reason = "a row that is not there fails the test")]

mod applications;
mod applied;
mod assumed;
mod attributes;
mod before;
mod bloom_filters;
mod caseless;
mod catalogue;
mod checked;
mod collations;
mod columns;
mod constants;
mod declared;
mod delegated;
mod embeddings;
mod explained;
mod filters;
mod forms;
mod halves;
mod held;
mod ids;
mod jit;
mod limits;
mod listed;
mod merged;
mod nested_folders;
mod pairs;
mod pattern_plans;
mod patterns;
mod plans;
mod recursion;
mod repeated;
mod row_security;
mod service;
mod session;
mod settings;
mod starting_end;
mod steps;
mod subjects;
mod templates;
mod text;
mod types;
mod undeclared;
mod whole_state;
