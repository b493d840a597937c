//! The results of tests as XML, in the form of `JUnit` that build servers read.
//!
//! A policy is a `testsuite`, a test a `testcase`. Each assertion that fails is a `failure`, and so is a
//! policy that does not validate or cannot be read.
//! The coverage of a policy's rules is in the `properties` of its suite.

use super::{FileOutcome, Tested};
use crate::cli::shown::printable;
use crate::engine::Coverage;
use quick_xml::Writer;
use quick_xml::events::{BytesDecl, BytesText, Event};
use std::io;

/// The document.
pub(super) fn document(all: &[Tested]) -> io::Result<Vec<u8>> {
    let mut writer = Writer::new_with_indent(Vec::new(), b' ', 2);
    writer.write_event(Event::Decl(BytesDecl::new("1.0", Some("UTF-8"), None)))?;
    writer
        .create_element("testsuites")
        .write_inner_content(|writer| all.iter().try_for_each(|tested| suite(writer, tested)))?;
    let mut text = writer.into_inner();
    text.push(b'\n');
    Ok(text)
}

fn suite(writer: &mut Writer<Vec<u8>>, tested: &Tested) -> io::Result<()> {
    let file = &printable(&tested.file);
    let (n_tests, n_failures) = match &tested.outcome {
        FileOutcome::Failed(_) | FileOutcome::Invalid(_) => (1, 1),
        FileOutcome::Ran(report, _) => {
            let n_failed = report.tests.iter().filter(|test| test.passed < test.total).count();
            (report.tests.len(), n_failed)
        }
    };
    let [n_tests, n_failures] = [n_tests, n_failures].map(|n| n.to_string());
    let attributes =
        [("name", file.as_str()), ("tests", n_tests.as_str()), ("failures", n_failures.as_str())];
    writer.create_element("testsuite").with_attributes(attributes).write_inner_content(
        |writer| match &tested.outcome {
            FileOutcome::Failed(reason) => case(writer, file, "the policy can be tested", &[&reason.text]),
            FileOutcome::Invalid(reasons) => {
                let errors: Vec<&String> = reasons.iter().map(|reason| &reason.text).collect();
                case(writer, file, "the policy validates", &errors)
            }
            FileOutcome::Ran(report, coverage) => {
                coverage.iter().try_for_each(|coverage| properties(writer, coverage))?;
                let mut tests = report.tests.iter();
                tests.try_for_each(|test| case(writer, file, &printable(&test.name), &test.failures))
            }
        },
    )?;
    Ok(())
}

/// The coverage: its counts, and each rule that no test uses.
fn properties(writer: &mut Writer<Vec<u8>>, coverage: &Coverage) -> io::Result<()> {
    let counts = [("rules", coverage.rules.len()), ("covered_rules", coverage.n_covered())];
    let counts = counts.map(|(name, count)| (name.to_owned(), count.to_string()));
    let uncovered = coverage.rules.iter().filter(|rule| rule.n_assertions == 0);
    let uncovered = uncovered.map(|rule| (format!("uncovered_line_{}", rule.line), printable(&rule.text)));
    writer.create_element("properties").write_inner_content(|writer| {
        for (name, value) in counts.into_iter().chain(uncovered) {
            let attributes = [("name", name.as_str()), ("value", value.as_str())];
            writer.create_element("property").with_attributes(attributes).write_empty()?;
        }
        Ok(())
    })?;
    Ok(())
}

fn case(
    writer: &mut Writer<Vec<u8>>,
    file: &str,
    name: &str,
    failures: &[impl AsRef<str>],
) -> io::Result<()> {
    let element = writer.create_element("testcase").with_attributes([("classname", file), ("name", name)]);
    if failures.is_empty() {
        element.write_empty()?;
        return Ok(());
    }
    element.write_inner_content(|writer| {
        for failure in failures {
            let failure = printable(failure.as_ref());
            let first = failure.lines().next().unwrap_or_default();
            let element = writer.create_element("failure").with_attribute(("message", first));
            element.write_text_content(BytesText::new(&failure))?;
        }
        Ok(())
    })?;
    Ok(())
}
