//! Puts findings into the order in which they are shown.

use super::{Code, Diagnostic, Severity};
use crate::limits;

/// Sorts findings by position, drops repeated ones, and caps them at [`limits::DIAGNOSTICS`].
///
/// Errors take precedence over lints; if errors are left out, a last one says how many. Settling twice
/// changes nothing.
pub fn settle(mut diagnostics: Vec<Diagnostic>) -> Vec<Diagnostic> {
    diagnostics.sort_by(|a, b| order(a).cmp(&order(b)));
    diagnostics.dedup_by(|a, b| a.code == b.code && a.primary.span == b.primary.span && a.title == b.title);
    if diagnostics.len() <= limits::DIAGNOSTICS {
        return diagnostics;
    }
    let (mut shown, lints): (Vec<_>, Vec<_>) =
        diagnostics.into_iter().partition(|found| found.severity() == Severity::Error);
    // Room for the finding that says how many are hidden.
    if shown.len() > limits::DIAGNOSTICS {
        let hidden = shown.split_off(limits::DIAGNOSTICS - 1);
        shown.extend(more(&hidden));
    }
    let room = limits::DIAGNOSTICS - shown.len();
    shown.extend(lints.into_iter().take(room));
    shown.sort_by(|a, b| order(a).cmp(&order(b)));
    shown
}

/// Position first; at one position what is shorter, then the code.
fn order(found: &Diagnostic) -> (crate::source::Span, Code, &str) {
    (found.primary.span, found.code, &found.title)
}

fn more(hidden: &[Diagnostic]) -> Option<Diagnostic> {
    let next = hidden.first()?.primary.span;
    let title = format!("{} more errors are not shown", hidden.len());
    let found = Diagnostic::new(Code::MoreFindings, title, next, "the next one is here");
    Some(found.with_help("mend the errors above first; they may have caused these"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::source::Span;

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
    fn errors_come_before_lints_and_the_rest_is_counted() {
        let lints = (0..100).map(|at| found(Code::UnusedTerm, at));
        let errors = (100..200).map(|at| found(Code::FloatLiteral, at));
        let settled = settle(lints.chain(errors).collect());
        assert_eq!(settled.len(), limits::DIAGNOSTICS);
        let last = settled.last().unwrap();
        assert_eq!((last.code, last.title.as_str()), (Code::MoreFindings, "51 more errors are not shown"));
        assert_eq!(settle(settled.clone()), settled);
    }
}
