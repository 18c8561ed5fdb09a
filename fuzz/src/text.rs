//! Files that people write: rigs, device files, plans, locks, budgets, and the words of a command line.

use std::cell::RefCell;
use std::net::{IpAddr, Ipv4Addr};
use wireproof::rig_file::{self, to_toml};
use wireproof_fixture::device::control::{Reply, Request};
use wireproof_fixture::device::parse_file;
use wireproof_matrices::compare::Budgets;
use wireproof_matrices::digest::Digest;
use wireproof_matrices::journal::Journal;
use wireproof_matrices::manifest::Manifest;
use wireproof_matrices::order::order;
use wireproof_matrices::plan::check::{check, predicted};
use wireproof_matrices::plan::{Lock, Plan};
use wireproof_protocols::layout::Layout;

thread_local! {
    /// Made once: it is large.
    static COMMAND: RefCell<clap::Command> = RefCell::new(wireproof::cli::command());
}

/// Reads a rig: what is written of it is read as the same rig.
pub fn rig(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    if let Ok(rig) = rig_file::parse("rig.toml", text) {
        let written = to_toml(&rig, &[]);
        assert_eq!(rig_file::parse("rig.toml", &written).ok(), Some(rig), "{written}");
    }
    let to = IpAddr::V4(Ipv4Addr::LOCALHOST);
    if let Ok(device) = parse_file(text, to, &|name| [name.len() as u8; 16]) {
        assert!(device.rig.outputs.len() <= 16, "{} outputs", device.rig.outputs.len());
    }
}

/// Reads a layout: what is refused says why, and what is taken has a filter.
pub fn layout(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    match Layout::read(text) {
        Ok(layout) => {
            assert!(!layout.capture_filter().is_empty());
        }
        Err(faults) => assert!(!faults.is_empty()),
    }
}

/// Reads a plan or a lock: what is frozen is read again with the same hashes, and what is checked has an order.
pub fn plan(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    if let Ok(plan) = Plan::read(text) {
        let checked = check(&plan, &|plan| predicted(plan, &Default::default()));
        assert!(order(&plan).arms() <= 10_000 && checked.power.len() <= plan.gate.len());
        if let Ok(lock) = Lock::freeze(text) {
            let written = lock.text().unwrap_or_default();
            let again = Lock::read(&written).map(|lock| lock.plan_sha256);
            assert_eq!(again.ok().as_ref(), Some(&lock.plan_sha256), "{written}");
        }
    }
    if let Ok(lock) = Lock::read(text) {
        assert!(lock.text().is_ok_and(|again| Lock::read(&again).is_ok()));
    }
}

/// Reads what lies in a bundle, and budgets.
pub fn bundle(data: &[u8]) {
    let _ = Journal::read(data, Digest::of(b""));
    if let Ok(manifest) = Manifest::parse(data) {
        assert!(Manifest::parse(manifest.render().as_bytes()).is_ok());
    }
    if let Ok(text) = std::str::from_utf8(data) {
        let _ = Budgets::read(text);
    }
}

/// Reads a command line, a line for each word, and the same as a request of a device's control socket.
pub fn words(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    let words = std::iter::once("wireproof").chain(text.lines().take(64));
    COMMAND.with_borrow_mut(|command| drop(command.try_get_matches_from_mut(words)));
    if let Ok(request) = text.parse::<Request>() {
        assert_eq!(request.to_string().parse(), Ok(request));
    }
    let _ = text.parse::<Reply>();
}
