//! The program's commands: exit codes, the standard output, the standard error.

mod ask;
mod bindings;
mod codes;
mod coverage;
mod exit_codes;
mod explain;
mod generate;
mod init;
mod lsp;
mod remote;
mod review;
mod store;
mod testing;
mod why;
mod why_local;
