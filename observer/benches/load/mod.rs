//! What the hand-run benches of live capture share: paced senders, child processes, and what the host was doing.
#![allow(dead_code, reason = "each program uses a part of it")]

pub(crate) mod child;
pub(crate) mod disturbed;
pub(crate) mod host;
pub(crate) mod pace;
pub(crate) mod receivers;
pub(crate) mod rig;
pub(crate) mod sacn;
pub(crate) mod sys;
pub(crate) mod wire;
