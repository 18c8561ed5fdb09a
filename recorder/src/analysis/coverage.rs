//! How much of the time children explain, and where least: all frames, the worst frame, the worst device root.

use crate::account::{Account, Share};
use serde::Serialize;

/// Share that should be explained, per cent: the field's target.
pub const TARGET_PERCENT: u64 = 95;

/// Per cent of the time that children explain, as a union: 0 to 100.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Coverage {
    /// Of all frames together.
    pub frames: Option<f64>,
    /// Of all device roots together.
    pub devices: Option<f64>,
    /// Of the frame with the smallest share.
    pub worst_frame: Option<f64>,
    /// Its id.
    pub worst_frame_id: Option<u32>,
    /// Of the device root with the smallest share.
    pub worst_device: Option<f64>,
    /// That device.
    pub worst_device_id: Option<u16>,
    /// The frame it is in.
    pub worst_device_frame: Option<u32>,
}

/// Finds the shares; of equally bad ones the first is named.
pub fn coverage(account: &Account) -> Coverage {
    let share = |part, whole| Share { part, whole };
    let worst_frame = account.worst_frame();
    let worst_device = account.worst_device();
    let frame = |wanted: Share| account.rows.iter().find(|row| share(row.covered_ns, row.root_ns) == wanted);
    let roots = || account.rows.iter().flat_map(|row| row.devices.iter().map(move |device| (row.id, device)));
    let root = |wanted: Share| roots().find(|(_, device)| share(device.covered_ns, device.root_ns) == wanted);
    let root = worst_device.and_then(root);
    Coverage {
        frames: account.frame_coverage().percent(),
        devices: account.device_coverage().percent(),
        worst_frame: worst_frame.and_then(Share::percent),
        worst_frame_id: worst_frame.and_then(frame).map(|row| row.id),
        worst_device: worst_device.and_then(Share::percent),
        worst_device_id: root.map(|(_, device)| device.device),
        worst_device_frame: root.map(|(id, _)| id),
    }
}

/// Whether a share is below the target; nothing is not.
pub fn below_target(share: Share) -> bool {
    u128::from(share.part) * 100 < u128::from(share.whole) * u128::from(TARGET_PERCENT)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::account::{DeviceRow, Row};
    use std::collections::BTreeSet;

    #[test]
    fn the_worst_are_named() {
        let device = |device, covered_ns| DeviceRow { device, covered_ns, root_ns: 10 };
        let row = |id, covered_ns, devices| Row {
            id,
            covered_ns,
            devices,
            span_ns: 0,
            sum_ns: 0,
            prologue_ns: 0,
            total_ns: 0,
            root_ns: 100,
            floor_ns: 0,
        };
        let rows = vec![row(7, 99, vec![device(0, 9)]), row(8, 94, vec![device(0, 10), device(1, 8)])];
        let account = Account { rows, prologue: BTreeSet::new() };
        let found = coverage(&account);
        assert_eq!((found.worst_frame, found.worst_frame_id), (Some(94.0), Some(8)));
        assert_eq!(
            (found.worst_device, found.worst_device_id, found.worst_device_frame),
            (Some(80.0), Some(1), Some(8))
        );
        assert!(
            below_target(Share { part: 949, whole: 1000 }) && !below_target(Share { part: 95, whole: 100 })
        );
        assert!(!below_target(Share::default()), "nothing is not too little");
        assert_eq!(coverage(&Account::default()), Coverage::default());
    }
}
