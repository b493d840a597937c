//! Sorts, deduplicates and caps findings, and drops fixes that do not help.

use super::code::{Code, Severity};
use super::finding::Diagnostic;
use crate::limits;
use crate::source::Span;

/// Sorts findings by position, drops repeated ones, and caps them at [`limits::DIAGNOSTICS`].
///
/// Errors take precedence over lints. If errors are left out, a final one says so. A fix goes if another
/// error at its place would remain. Idempotent.
pub fn settle(mut diagnostics: Vec<Diagnostic>) -> Vec<Diagnostic> {
    diagnostics.sort_by(|a, b| order(a).cmp(&order(b)));
    diagnostics.dedup_by(|a, b| {
        // The grammar and the resolver both report the value of an object literal.
        let is_same = a.title == b.title || a.code == Code::MalformedObject;
        a.code == b.code && a.primary.span == b.primary.span && is_same
    });
    drop_vain_fixes(&mut diagnostics);
    if diagnostics.len() <= limits::DIAGNOSTICS {
        return diagnostics;
    }
    let (mut shown, lints): (Vec<_>, Vec<_>) =
        diagnostics.into_iter().partition(|found| found.severity() == Severity::Error);
    // Leaves room for the finding that says there are more.
    if shown.len() > limits::DIAGNOSTICS {
        let hidden = shown.split_off(limits::DIAGNOSTICS - 1);
        shown.extend(more(&hidden));
    }
    let room = limits::DIAGNOSTICS - shown.len();
    shown.extend(lints.into_iter().take(room));
    shown.sort_by(|a, b| order(a).cmp(&order(b)));
    shown
}

/// Drops the fixes that replace a text about which there is another error: `"a" on owner`, where the block
/// has no relation `owner` either.
fn drop_vain_fixes(diagnostics: &mut [Diagnostic]) {
    let errors: Vec<(Span, Code)> = diagnostics
        .iter()
        .filter(|found| found.severity() == Severity::Error)
        .map(|found| (found.primary.span, found.code))
        .collect();
    for found in diagnostics {
        let is_of_another = |(span, code): &(Span, Code)| *span == found.primary.span && *code != found.code;
        if found.fix.as_ref().is_some_and(|fix| fix.span == found.primary.span)
            && errors.iter().any(is_of_another)
        {
            found.fix = None;
        }
    }
}

/// By position, then by length, then by code.
fn order(found: &Diagnostic) -> (Span, Code, &str) {
    (found.primary.span, found.code, &found.title)
}

fn more(hidden: &[Diagnostic]) -> Option<Diagnostic> {
    let next = hidden.first()?.primary.span;
    let found = Diagnostic::new(Code::MoreFindings, "there are more errors", next, "the next one is here");
    Some(found.with_help("fix the errors above first; they may have caused these"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(code: Code, at: usize) -> Diagnostic {
        Diagnostic::new(code, format!("at {at}"), Span::new(at, at + 1), "")
    }

    #[test]
    fn findings_are_sorted_and_shown_once() {
        let settled = settle(vec![
            found(Code::UnusedTerm, 9),
            found(Code::FloatLiteral, 3),
            found(Code::FloatLiteral, 3),
        ]);
        let places: Vec<_> = settled.iter().map(|found| found.primary.span.start).collect();
        assert_eq!(places, [3, 9]);
    }

    #[test]
    fn the_value_of_an_object_is_reported_once() {
        let of_value = |title: &str| Diagnostic::new(Code::MalformedObject, title, Span::new(3, 4), "");
        assert_eq!(settle(vec![of_value("no Boolean"), of_value("a number")]).len(), 1);
    }

    #[test]
    fn a_fix_beside_another_error_is_dropped() {
        let fixed = |code, at| {
            let found = found(code, at);
            let span = found.primary.span;
            found.with_fix("write it so", span, "a")
        };
        let settled = settle(vec![fixed(Code::UnexpectedToken, 3), found(Code::UnknownRelation, 3)]);
        assert!(settled.iter().all(|found| found.fix.is_none()), "{settled:?}");
        let settled = settle(vec![fixed(Code::UnexpectedToken, 3), found(Code::UnknownRelation, 7)]);
        assert!(settled.iter().any(|found| found.fix.is_some()), "{settled:?}");
    }

    #[test]
    fn errors_come_before_lints_and_hidden_ones_are_mentioned() {
        let lints = (0..100).map(|at| found(Code::UnusedTerm, at));
        let errors = (100..200).map(|at| found(Code::FloatLiteral, at));
        let settled = settle(lints.chain(errors).collect());
        assert_eq!(settled.len(), limits::DIAGNOSTICS);
        let last = settled.last().unwrap();
        assert_eq!((last.code, last.title.as_str()), (Code::MoreFindings, "there are more errors"));
        assert_eq!(settle(settled.clone()), settled);
    }
}
