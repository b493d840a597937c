//! The variants in which an application is measured: its bindings, and how its tables are prepared.

use clap::ValueEnum;
use portcullis_testkit::applications::Application;

/// How much of the bindings the service gets, and what the database knows of its tables.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Variant {
    /// The document as it is, on tables that were never analysed
    Fresh,
    /// The document as it is: `sql_types` and `tables`
    Full,
    /// Without `tables`
    Types,
    /// Without both
    None,
    /// The document as it is, on a copy of the tables in SQLite
    Sqlite,
}

impl Variant {
    /// What tables and JSON call it.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Fresh => "fresh",
            Self::Full => "full",
            Self::Types => "types",
            Self::None => "none",
            Self::Sqlite => "sqlite",
        }
    }

    /// The sections that are taken out of the bindings.
    fn without(self) -> &'static [&'static str] {
        match self {
            Self::Fresh | Self::Full | Self::Sqlite => &[],
            Self::Types => &["tables:"],
            Self::None => &["sql_types:", "tables:"],
        }
    }

    /// The bindings of an application.
    pub(crate) fn bindings(self, application: &Application) -> String {
        match self {
            Self::Fresh | Self::Full | Self::Types | Self::None => {
                application.bindings_without(self.without())
            }
            Self::Sqlite => application.bindings_of_sqlite(),
        }
    }
}
