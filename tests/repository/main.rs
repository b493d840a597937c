//! What this repository must keep: which module may import which, no circle of imports, what is named or
//! written only in its own place, names of types that mean one thing, source files of one form, tests that
//! run, short files and functions, pages that show real output and working links, an index of the conformance
//! pages, policies that mean the same in every layout, comments that wrap, and patches that fit the code.

mod circles;
mod comments;
mod form;
mod layers;
mod pages;
mod patches;
mod places;
mod sizes;
mod sources;
mod texts;
mod topics;
mod trials;
mod type_names;
