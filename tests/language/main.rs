//! The pages of `fixtures`: one trial for each heading of a conformance page, put to the service and to
//! local checks, and one for each page of a mistake.
//!
//! ```text
//! cargo test --test language -- recursion             the pages of one topic
//! cargo test --test language -- conformance:: local:: all conformance pages, hosted and local
//! cargo test --test language -- diagnostics::         the pages of mistakes
//! ```

mod conformance;
mod diagnostics;
mod local;

use libtest_mimic::Arguments;
use std::process::ExitCode;

/// As in the program: plans are many small values, and allocating them takes a part of the time.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    let arguments = Arguments::from_args();
    let trials = conformance::trials().into_iter().chain(diagnostics::trials()).chain(local::trials());
    libtest_mimic::run(&arguments, trials.collect()).exit_code()
}
