//! Any text as a policy: lexer, parser, resolver, lints, strata, the printer back to text, and the formatter.

use portcullis_compiler::diagnostic::Severity;
use portcullis_compiler::diagnostic::render::render_all;
use portcullis_compiler::source::SourceMap;
use portcullis_compiler::{check, ir, limits, syntax};

/// Reads a text and draws what is wrong with it; what has no mistake prints as a text that means the same.
pub fn run(data: &[u8]) {
    let source = SourceMap::new("fuzz.polar", &*String::from_utf8_lossy(data));
    let checked = check(&source);
    assert!(checked.diagnostics.len() <= limits::DIAGNOSTICS, "too many findings");
    for found in &checked.diagnostics {
        for span in found.secondary.iter().map(|label| label.span).chain([found.primary.span]) {
            assert!(source.text().get(span.range()).is_some(), "{found:?} is outside the text");
        }
    }
    let _drawn = render_all(&source, &checked.diagnostics);

    let (policy, findings) = syntax::parse(&source);
    if findings.iter().any(|found| found.severity() == Severity::Error) {
        return;
    }
    let printed = syntax::print(&policy);
    let again = SourceMap::new("fuzz.polar", &*printed);
    let (read, findings) = syntax::parse(&again);
    assert_eq!(findings, [], "what was printed has mistakes:\n{printed}");
    assert_eq!(syntax::print(&read), printed, "what was printed is printed otherwise");
    let meaning = |program: &Option<ir::Program>| program.as_ref().map(ir::print::program);
    assert_eq!(
        meaning(&check(&again).program),
        meaning(&checked.program),
        "what was printed means something else:\n{printed}"
    );

    let formatted = match syntax::format(&source) {
        Ok(formatted) => SourceMap::new("fuzz.polar", formatted),
        Err(error) => panic!("cannot be formatted: {error:?}"),
    };
    let again = syntax::format(&formatted);
    assert_eq!(again.ok().as_deref(), Some(formatted.text()), "what was formatted is formatted otherwise");
}
