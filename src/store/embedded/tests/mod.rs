//! What the files of a store promise.

mod backups;
mod files;
mod formats;
mod readings;

use crate::store::tests::*;
use crate::store::{Change, Fact, FactPattern, Store, StoreError, StoreOptions};
use std::path::Path;
use std::time::Duration;
