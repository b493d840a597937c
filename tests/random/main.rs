//! Random inputs: policies that every engine must answer as the oracle does (`differential`), policies whose
//! answers must agree with each other (`metamorphic`), and the inputs that fuzzing has kept (`fuzz`).

mod differential;
mod fuzz;
mod metamorphic;

/// Plans are many small values, and a quarter of a run is their memory.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;
