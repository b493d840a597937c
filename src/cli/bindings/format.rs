//! Formats a data-bindings document for `portcullis fmt`.

use crate::cli::error::CliError;
use crate::cli::reason::Reason;
use portcullis_compiler::bindings;
use portcullis_compiler::source::SourceMap;
use std::path::Path;

/// Whether a file contains data bindings, judged by the end of its name.
pub(in crate::cli) fn is_document(path: &Path) -> bool {
    let ending = path.extension().unwrap_or_default();
    ending.eq_ignore_ascii_case("yaml") || ending.eq_ignore_ascii_case("yml")
}

/// The formatted text of a document, or why it is not YAML.
pub(in crate::cli) fn formatted(source: &SourceMap) -> Result<Result<String, Vec<Reason>>, CliError> {
    let refused = |errors| {
        let error = CliError::Bindings { file: source.name().to_owned(), errors };
        Ok(Err(vec![error.into()]))
    };
    bindings::format(source.text()).map_or_else(refused, |text| Ok(Ok(text)))
}
