//! Shows the progress of a command on a terminal, and nothing otherwise.

use indicatif::{ProgressBar, ProgressStyle};
use std::io::IsTerminal;
use std::time::Duration;

/// A line on the standard error; dropping it clears it.
#[derive(Debug)]
pub(super) struct ProgressLine(ProgressBar);

impl ProgressLine {
    /// Progress in bytes, of a known or unknown total.
    pub(super) fn of_bytes(total: Option<u64>) -> Self {
        let template = match total {
            Some(_) => "{bar:30} {bytes} of {total_bytes}, {binary_bytes_per_sec}, {eta} left  {msg}",
            None => "{spinner} {bytes}, {binary_bytes_per_sec}  {msg}",
        };
        Self::new(total, template)
    }

    /// Progress in other units.
    pub(super) fn of_parts(what: &str) -> Self {
        Self::new(None, &format!("{{spinner}} {{human_pos}} {what}, {{per_sec}}  {{msg}}"))
    }

    fn new(total: Option<u64>, template: &str) -> Self {
        if !std::io::stderr().is_terminal() {
            return Self(ProgressBar::hidden());
        }
        let bar = total.map_or_else(ProgressBar::new_spinner, ProgressBar::new);
        if let Ok(style) = ProgressStyle::with_template(template) {
            bar.set_style(style);
        }
        bar.enable_steady_tick(Duration::from_millis(200));
        Self(bar)
    }

    /// Sets how much is done.
    pub(super) fn reached(&self, done: u64) {
        self.0.set_position(done);
    }

    /// Shows a message; the empty text clears it.
    pub(super) fn say(&self, text: impl Into<std::borrow::Cow<'static, str>>) {
        self.0.set_message(text);
    }
}

impl Drop for ProgressLine {
    fn drop(&mut self) {
        self.0.finish_and_clear();
    }
}
