//! The faults that can be planted, by row of the table of failures.

/// A fault and the attempts it happens in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Planted {
    /// What.
    pub fault: Fault,
    /// First attempt.
    pub from: u32,
    /// Last attempt.
    pub to: u32,
}

impl Planted {
    /// True in this attempt.
    pub(super) fn holds_in(&self, attempt: u32) -> bool {
        (self.from..=self.to).contains(&attempt)
    }
}

/// What goes wrong.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Fault {
    /// Row 1: the first `sets` times that a factor is set, it does not take.
    ToggleStuck {
        /// Factor.
        factor: String,
        /// How often.
        sets: u32,
    },
    /// Row 2: the first `sets` times, it reads on and does nothing.
    ToggleIdle {
        /// Factor.
        factor: String,
        /// How often.
        sets: u32,
    },
    /// Row 3: somebody sets a factor to a level inside the window.
    ToggleDrifts {
        /// Factor.
        factor: String,
        /// Level.
        level: String,
    },
    /// Row 4: a factor can be set to this level no more.
    LevelRefused {
        /// Factor.
        factor: String,
        /// Level.
        level: String,
    },
    /// Row 5: the device restarts inside the window.
    Restarts,
    /// Row 6: the device has another build.
    OtherBuild,
    /// Row 7: the device's clock steps inside the window, ns.
    DeviceClockSteps(i64),
    /// Row 7: its times go backwards.
    DeviceTimesFall,
    /// Row 8: the bench's clock steps, ns.
    BenchClockSteps(i64),
    /// Rows 9 and 10: the receive loop stands, and the buffer loses so many datagrams.
    LoopStalls {
        /// For how long, ns.
        for_ns: u64,
        /// Datagrams lost.
        lost: u64,
    },
    /// Row 11: the receive buffer is smaller than asked for.
    SmallBuffer,
    /// Section 7.2: the buffer holds less than `min_hold`.
    ShortHold,
    /// Section 7.2: the stall control reports less than was lost.
    StallUnreported,
    /// Row 12: the tap drops.
    TapDrops,
    /// Row 13: the network card drops.
    HostDrops(u64),
    /// Row 14: datagrams with a bad checksum.
    BadChecksums(u64),
    /// Rows 15 and 18: the ring is overwritten before it was collected.
    RingWraps {
        /// A second download still finds the window.
        still_there: bool,
    },
    /// The device answers so many collecting downloads with a copy from before the end of the window.
    RingStale {
        /// How many.
        times: u32,
    },
    /// Row 16: a download inside the window is cut short.
    DrainTruncated {
        /// Which, from 0.
        index: u32,
    },
    /// Row 16: so many collecting downloads are cut short.
    CollectTruncated {
        /// How many.
        times: u32,
    },
    /// Row 17: torn frames in the copy.
    TornFrames(u64),
    /// Row 18: collecting begins so late, ns.
    CollectsLate(i64),
    /// Row 19: a download takes so long.
    SlowDrain {
        /// Which, from 0.
        index: u32,
        /// How long, ns.
        takes_ns: i64,
    },
    /// Row 20: so many reads of the status fail.
    Unreachable {
        /// How many.
        times: u32,
    },
    /// Row 20: a download inside the window is refused.
    DrainRefused {
        /// Which, from 0.
        index: u32,
    },
    /// Row 21: the bench's link is down.
    LinkDown,
    /// Row 21: the link is up and all streams are silent.
    AllSilent,
    /// Rows 22 and 26: one stream is silent.
    StreamSilent(String),
    /// Row 23: the frame rate is off by so much, ppm, while settling too.
    RateOff(i64),
    /// Section 4: sequence gaps while settling.
    SettlesWithGaps,
    /// Section 4: reports of settling end after two seconds.
    ReportsEnd,
    /// Row 23: the frame rate changes inside the window only, ppm.
    RateChanges(i64),
    /// Row 24: another source sends so many datagrams.
    ForeignSource(u64),
    /// Row 25: the port is taken.
    PortTaken,
    /// Row 27: the rate still moves for so many warm-ups.
    StillWarming {
        /// How many.
        times: u32,
    },
    /// Row 28: the device's `throttled` flags.
    Throttled(u64),
    /// Row 29: the bench was suspended.
    Suspended,
    /// Row 30: records cannot be written.
    JournalFails,
    /// Row 30: the files of an arm cannot be written.
    KeepFails,
    /// Row 30: so many octets are free.
    LittleSpace(u64),
    /// Row 30: the bundle cannot be sealed.
    SealFails,
    /// Row 33: another run holds the device.
    Held,
    /// Row 33: another run takes the device over.
    LeaseLost,
    /// Row 4: an earlier run left the device changed.
    Unrestored,
    /// Row 35: a gap longer than half the modulus.
    LongGap,
    /// Row 36: so few frames.
    FewFrames(u64),
    /// A loss that the device's record owns.
    LostBySender(u64),
    /// Loss whose owner is not known.
    LostAmbiguous(u64),
}
