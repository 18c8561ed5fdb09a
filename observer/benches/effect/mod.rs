//! What the bench of the observer effect is made of: options, the processes, the arms, and what is judged and said.

pub(crate) mod arm;
pub(crate) mod compare;
pub(crate) mod cost;
pub(crate) mod http;
pub(crate) mod judge;
pub(crate) mod options;
pub(crate) mod quiet;
pub(crate) mod rig;
pub(crate) mod said;

/// What a step of the bench comes to.
pub(crate) type Outcome<T> = Result<T, Box<dyn std::error::Error>>;
