//! The offset between two clocks from request and answer, as NTP has it (RFC 5905, section 8): what each exchange proves
//! is an interval, and the truth lies in all of them. Never claims more than that.

/// One exchange: the bench asks, the device answers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Exchange {
    /// Bench: the request is about to go out, ns.
    pub asked_ns: i64,
    /// Device: the request is there, ns.
    pub received_ns: i64,
    /// Device: the answer is about to go out, ns.
    pub sent_ns: i64,
    /// Bench: the answer is there, ns.
    pub answered_ns: i64,
}

impl Exchange {
    /// Time on the way, there and back, ns; `None` when the times contradict each other.
    pub fn delay_ns(&self) -> Option<i64> {
        let whole = self.answered_ns.checked_sub(self.asked_ns)?;
        let inside = self.sent_ns.checked_sub(self.received_ns)?;
        let delay = whole.checked_sub(inside)?;
        (whole >= 0 && inside >= 0 && delay >= 0).then_some(delay)
    }

    /// What is proven: device minus bench lies between these, ns.
    fn bounds(&self) -> Option<(i64, i64)> {
        self.delay_ns()?;
        let least = self.sent_ns.checked_sub(self.answered_ns)?;
        let most = self.received_ns.checked_sub(self.asked_ns)?;
        Some((least, most))
    }
}

/// Most that two clocks are taken to drift apart, parts in a million: both may be slewed at 500.
pub const DRIFT_PPM: u32 = 1000;

/// Device clock minus bench clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Offset {
    /// Bench time it holds for, ns: that of the exchange with the least delay.
    pub at_ns: i64,
    /// Device minus bench, ns.
    pub offset_ns: i64,
    /// The truth is no further away than this, ns.
    pub uncertainty_ns: u64,
    /// Exchanges that it rests on.
    pub exchanges: usize,
    /// Most that the clocks drift apart, parts in a million.
    pub drift_ppm: u32,
}

/// Why there is no offset.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NoOffset {
    /// No exchange, or none whose times make sense.
    #[error("no answer carried usable times of the device")]
    Nothing,
    /// No offset fits all exchanges: a clock was set meanwhile.
    #[error("the exchanges contradict each other: a clock was set during the run")]
    Contradiction,
}

/// Estimates the offset: the exchange with the least delay, narrowed down by all others.
///
/// # Errors
/// Nothing usable, or a clock that stepped.
pub fn estimate(exchanges: &[Exchange], drift_ppm: u32) -> Result<Offset, NoOffset> {
    let usable = || exchanges.iter().filter(|e| e.bounds().is_some());
    let best = usable().min_by_key(|e| e.delay_ns()).ok_or(NoOffset::Nothing)?;
    estimate_at(exchanges, best.asked_ns, drift_ppm)
}

/// The offset at a time of the bench.
fn estimate_at(exchanges: &[Exchange], at_ns: i64, drift_ppm: u32) -> Result<Offset, NoOffset> {
    let usable = || exchanges.iter().filter(|e| e.bounds().is_some());
    let (mut least, mut most) = (i128::from(i64::MIN), i128::from(i64::MAX));
    for (exchange, (low, high)) in usable().filter_map(|e| Some((e, e.bounds()?))) {
        // The two bounds come from the two ends of the exchange.
        let drifted = |at: i64| drift(at, at_ns, drift_ppm);
        least = least.max(i128::from(low) - drifted(exchange.answered_ns));
        most = most.min(i128::from(high) + drifted(exchange.asked_ns));
    }
    if least > most {
        return Err(NoOffset::Contradiction);
    }
    let middle = least + (most - least) / 2;
    let clamp = |value: i128| i64::try_from(value).map_err(|_| NoOffset::Nothing);
    Ok(Offset {
        at_ns,
        offset_ns: clamp(middle)?,
        uncertainty_ns: u64::try_from(most - middle).unwrap_or(u64::MAX),
        exchanges: usable().count(),
        drift_ppm,
    })
}

fn drift(at: i64, reference: i64, ppm: u32) -> i128 {
    let apart = (i128::from(at) - i128::from(reference)).abs();
    (apart * i128::from(ppm) + 999_999) / 1_000_000
}

/// Which of two events came first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    /// The device's event, for certain.
    DeviceFirst,
    /// The bench's event, for certain.
    BenchFirst,
    /// The uncertainty does not say.
    Open,
}

impl Offset {
    /// The bench times between which an event at this time of the device's clock lies, ns.
    pub fn bench_ns(&self, device_ns: i64) -> (i64, i64) {
        let middle = i128::from(device_ns) - i128::from(self.offset_ns);
        let far = i128::from(self.uncertainty_ns);
        // A drift of the drift is more than enough for where the time itself is uncertain.
        let clamped = i64::try_from(middle).unwrap_or(if middle < 0 { i64::MIN } else { i64::MAX });
        let away = drift(clamped, self.at_ns, self.drift_ppm);
        let wide = far + away + drift_of(far + away, self.drift_ppm);
        let bound = |value: i128| value.clamp(i64::MIN.into(), i64::MAX.into()) as i64;
        (bound(middle - wide), bound(middle + wide))
    }

    /// Which of an event of the device and one of the bench came first, as far as it is certain.
    pub fn order(&self, device_ns: i64, bench_ns: i64) -> Order {
        order(self.bench_ns(device_ns), bench_ns)
    }
}

/// Offsets over a run, each at its best where its exchange was: between two of them both hold.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Track {
    /// In order of time, at least one.
    offsets: Vec<Offset>,
}

/// Exchanges on each side of another one that still narrow it down: those further away have drifted too far.
const NEIGHBOURS: usize = 16;

impl From<Offset> for Track {
    fn from(offset: Offset) -> Track {
        Track { offsets: vec![offset] }
    }
}

impl Track {
    /// Follows the offset through exchanges in any order.
    ///
    /// # Errors
    /// As [`estimate`].
    pub fn new(exchanges: &[Exchange], drift_ppm: u32) -> Result<Track, NoOffset> {
        let mut usable: Vec<Exchange> = exchanges.iter().filter(|e| e.bounds().is_some()).copied().collect();
        usable.sort_by_key(|e| e.asked_ns);
        estimate(&usable, drift_ppm)?;
        let near = |at: usize| {
            let (from, to) = (at.saturating_sub(NEIGHBOURS), usable.len().min(at + NEIGHBOURS + 1));
            usable.get(from..to).unwrap_or_default()
        };
        let offsets = usable.iter().enumerate().map(|(at, e)| estimate_at(near(at), e.asked_ns, drift_ppm));
        Ok(Track { offsets: offsets.collect::<Result<_, _>>()? })
    }

    /// The bench times between which an event at this time of the device's clock lies, ns.
    pub fn bench_ns(&self, device_ns: i64) -> (i64, i64) {
        let at = self.offsets.partition_point(|o| o.at_ns.saturating_add(o.offset_ns) <= device_ns);
        let both = [at.checked_sub(1).and_then(|at| self.offsets.get(at)), self.offsets.get(at)];
        let spans = both.into_iter().flatten().map(|offset| offset.bench_ns(device_ns));
        let (least, most) = spans.fold((i64::MIN, i64::MAX), |(low, high), (l, h)| (low.max(l), high.min(h)));
        // Two that exclude each other by a rounding leave a point, not nothing.
        (least, most.max(least))
    }

    /// Which of an event of the device and one of the bench came first, as far as it is certain.
    pub fn order(&self, device_ns: i64, bench_ns: i64) -> Order {
        order(self.bench_ns(device_ns), bench_ns)
    }
}

/// Which came first: an event that lies between two times of the bench, or one at a time of it.
pub fn order((earliest, latest): (i64, i64), bench_ns: i64) -> Order {
    if latest < bench_ns {
        Order::DeviceFirst
    } else if bench_ns < earliest {
        Order::BenchFirst
    } else {
        Order::Open
    }
}

fn drift_of(ns: i128, ppm: u32) -> i128 {
    (ns * 2 * i128::from(ppm) + 999_999) / 1_000_000
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const SECOND: i64 = 1_000_000_000;

    /// A device clock: bench time plus offset, running so many parts in a million too fast.
    #[derive(Clone, Copy, Debug)]
    struct World {
        offset: i64,
        ppm: i64,
    }

    impl World {
        fn device(&self, bench: i64) -> i64 {
            bench + self.offset + (i128::from(bench) * i128::from(self.ppm) / 1_000_000) as i64
        }

        fn exchange(&self, at: i64, there: i64, inside: i64, back: i64) -> Exchange {
            Exchange {
                asked_ns: at,
                received_ns: self.device(at + there),
                sent_ns: self.device(at + there + inside),
                answered_ns: at + there + inside + back,
            }
        }
    }

    #[test]
    fn a_symmetric_exchange_is_answered_exactly_and_an_asymmetric_one_within_half_the_delay() {
        let world = World { offset: -7 * SECOND, ppm: 0 };
        let even = estimate(&[world.exchange(SECOND, 500, 90_000, 500)], 0).unwrap();
        assert_eq!((even.offset_ns, even.uncertainty_ns, even.exchanges), (-7 * SECOND, 500, 1));
        let odd = estimate(&[world.exchange(SECOND, 1000, 90_000, 0)], 0).unwrap();
        assert_eq!((odd.offset_ns, odd.uncertainty_ns), (-7 * SECOND + 500, 500));
    }

    #[test]
    fn two_crooked_exchanges_narrow_each_other_down() {
        let world = World { offset: 42, ppm: 0 };
        let two = [world.exchange(0, 0, 10, 1000), world.exchange(5000, 1000, 10, 0)];
        let offset = estimate(&two, 0).unwrap();
        assert_eq!((offset.offset_ns, offset.uncertainty_ns), (42, 0));
    }

    #[test]
    fn a_clock_that_was_set_is_a_contradiction_and_nonsense_is_nothing() {
        let exchanges = [
            World { offset: 0, ppm: 0 }.exchange(0, 500, 10, 500),
            World { offset: SECOND, ppm: 0 }.exchange(SECOND, 500, 10, 500),
        ];
        assert_eq!(estimate(&exchanges, DRIFT_PPM), Err(NoOffset::Contradiction));
        assert_eq!(estimate(&[], DRIFT_PPM), Err(NoOffset::Nothing));
        let backwards = Exchange { asked_ns: 5, received_ns: 9, sent_ns: 3, answered_ns: 7 };
        let wild = Exchange { asked_ns: i64::MIN, received_ns: 0, sent_ns: 0, answered_ns: i64::MAX };
        assert_eq!(estimate(&[backwards, wild], DRIFT_PPM), Err(NoOffset::Nothing));
    }

    #[test]
    fn an_order_closer_than_the_uncertainty_stays_open() {
        let world = World { offset: 0, ppm: 0 };
        let offset = estimate(&[world.exchange(0, 500, 0, 500)], 0).unwrap();
        assert_eq!(offset.order(0, 501), Order::DeviceFirst);
        assert_eq!(offset.order(0, -501), Order::BenchFirst);
        assert!((-500..=500).all(|bench| offset.order(0, bench) == Order::Open));
    }

    #[test]
    fn a_track_is_as_sharp_at_each_exchange_as_the_exchange_and_follows_a_drift() {
        let world = World { offset: -7 * SECOND, ppm: 80 };
        let exchanges: Vec<_> =
            (0..60).map(|n| world.exchange(n * 5 * SECOND, 100_000, 0, 100_000)).collect();
        let (one, track) =
            (estimate(&exchanges, DRIFT_PPM).unwrap(), Track::new(&exchanges, DRIFT_PPM).unwrap());
        let width = |(from, to): (i64, i64)| to - from;
        let far = world.device(295 * SECOND + 50_000);
        assert!(width(track.bench_ns(far)) < 202_000, "{:?}", track.bench_ns(far));
        assert!(width(one.bench_ns(far)) > 500_000_000, "{:?}", one.bench_ns(far));
        // In the middle of five seconds 2.5 ms may have drifted apart, to either side.
        let between = width(track.bench_ns(world.device(7_500_000_000)));
        assert!((4_000_000..5_300_000).contains(&between), "{between}");
        for second in 0..300 {
            let (from, to) = track.bench_ns(world.device(second * SECOND));
            assert!(from <= second * SECOND && second * SECOND <= to, "{second}: {from}..{to}");
        }
        let order = |bench| track.order(world.device(100 * SECOND), 100 * SECOND + bench);
        assert_eq!([-300_000, 0, 300_000].map(order), [Order::BenchFirst, Order::Open, Order::DeviceFirst]);
        assert_eq!(Track::new(&[], DRIFT_PPM), Err(NoOffset::Nothing));
    }

    proptest! {
        #[test]
        fn the_truth_always_lies_within_the_uncertainty(
            offset in -1_000_000 * SECOND..1_000_000 * SECOND,
            ppm in -1000i64..=1000,
            ways in prop::collection::vec((0..600 * SECOND, 0..50_000_000i64, 0..SECOND, 0..50_000_000i64), 1..40),
            event in 0..600 * SECOND,
            other in -1_000_000i64..1_000_000,
        ) {
            let world = World { offset, ppm };
            let exchanges: Vec<_> =
                ways.iter().map(|(at, there, inside, back)| world.exchange(*at, *there, *inside, *back)).collect();
            // An exchange whose drift hides its delay is set aside; another thousandth covers rounding.
            if let Ok(found) = estimate(&exchanges, DRIFT_PPM + 2) {
                let truth = world.device(found.at_ns) - found.at_ns;
                prop_assert!(truth.abs_diff(found.offset_ns) <= found.uncertainty_ns + 2, "{found:?}, truth {truth}");
                let (earliest, latest) = found.bench_ns(world.device(event));
                prop_assert!(earliest - 2 <= event && event <= latest + 2, "{event} not in {earliest}..{latest}");
                let track = Track::new(&exchanges, DRIFT_PPM + 2).unwrap();
                let (earliest, latest) = track.bench_ns(world.device(event));
                prop_assert!(earliest - 3 <= event && event <= latest + 3, "{event} not in {earliest}..{latest}");
                match found.order(world.device(event), event + other) {
                    Order::DeviceFirst => prop_assert!(other >= -2),
                    Order::BenchFirst => prop_assert!(other <= 2),
                    Order::Open => {}
                }
            } else {
                prop_assert!(exchanges.iter().all(|e| e.delay_ns().is_none()), "a contradiction without a step");
            }
        }
    }
}
