//! What this repository must keep: which module may import which, no circle of imports, short files and
//! functions, pages that show real output and working links, policies that mean the same in every layout,
//! comments that wrap, and seeded faults that fit the code.

mod circles;
mod comments;
mod faults;
mod layers;
mod pages;
mod sizes;
mod sources;
mod texts;
