//! Looks at the memory of the service ten times a second, since it matters how much it took at most.

use crate::code_host::service::Memory;
use portcullis_testkit::program::Service;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

/// A look-out over a service.
#[derive(Debug)]
pub(crate) struct Watch {
    process: u32,
    ended: Arc<AtomicBool>,
    looking: JoinHandle<Memory>,
}

/// Memory of the service.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Watched {
    /// The most of each kind, not necessarily at once.
    pub(crate) most: Memory,
    /// At the end.
    pub(crate) last: Memory,
}

impl Watch {
    /// Looks from now on.
    pub(crate) fn over(service: &Service) -> Self {
        let (process, ended) = (service.program.id(), Arc::new(AtomicBool::new(false)));
        let until = Arc::clone(&ended);
        let looking = std::thread::spawn(move || {
            let mut most = Memory::default();
            while !until.load(Ordering::Relaxed) {
                let now = Memory::of(process);
                most = Memory { own: most.own.max(now.own), mapped: most.mapped.max(now.mapped) };
                std::thread::sleep(Duration::from_millis(100));
            }
            most
        });
        Self { process, ended, looking }
    }

    /// Looks no more.
    pub(crate) fn end(self) -> Watched {
        self.ended.store(true, Ordering::Relaxed);
        Watched { last: Memory::of(self.process), most: self.looking.join().unwrap() }
    }
}
