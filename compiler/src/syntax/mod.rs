//! Policy text to syntax tree.
pub mod ast;
