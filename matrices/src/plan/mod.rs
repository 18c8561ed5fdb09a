//! The plan of a matrix: its types, how it is read, frozen and checked. Everything in it is an integer, a word or a list;
//! there are no floats.

pub mod canonical;
pub mod check;
mod error;
mod layouts;
mod lock;
pub mod metric;
mod model;
pub mod profile;
mod read;
pub mod shape;
mod template;

pub use error::{LockError, PlanError};
pub use layouts::{Declared, shipped_layout};
pub use lock::{Lock, MOST_LOCK, SCHEMA as LOCK_SCHEMA};
pub use model::*;
pub use profile::Profile;
pub use read::usual_validity;
pub use read::{Beside, Files, MOST_TEXT};
pub use template::{TEMPLATES, Template};
