//! The one table of diagnostic codes.
use super::Severity;
/// A stable diagnostic code.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Code {
    /// placeholder
    P0000,
}
impl Code {
    /// Its severity.
    pub fn severity(self) -> Severity {
        Severity::Error
    }
}
