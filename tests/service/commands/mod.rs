//! The program's commands: exit codes, the standard output, the standard error.

mod bindings;
mod exit_codes;
mod explain;
mod lsp;
mod review;
mod why;
mod why_local;
