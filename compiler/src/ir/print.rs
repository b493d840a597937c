//! A program as text, for `explain` and snapshots.
/// stub
pub fn print(_: &super::Program) -> String {
    String::new()
}
