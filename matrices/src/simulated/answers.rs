//! What the simulated bench answers to each command, and how long that takes.

use super::{Bench, Event, Fault, MS, OFFSET_NS, Reporting};
use crate::digest::Digest;
use crate::journal::{Record, Stored};
use crate::plan::{Motion, Word};
use crate::runner::io::{
    Answer, Buffer, ClockSample, Collected, Command, Failure, Input, Preflight, Settling, StallControl,
    Status, Warming,
};
use std::collections::BTreeMap;
use wireproof_protocols::Timestamp;

/// Octets that a healthy bench has free.
const FREE: u64 = 64 << 30;
/// How long the ring keeps a record, ns.
const RETENTION_NS: u64 = 36_800_000_000;

type Result = std::result::Result<Answer, Failure>;

impl Bench {
    /// How long a command takes, ns.
    pub(super) fn takes(&self, command: &Command) -> i64 {
        let late = self.faults().find_map(|fault| match fault {
            Fault::CollectsLate(ns) => Some(*ns),
            _ => None,
        });
        match command {
            Command::Journal(_) => 2 * MS,
            Command::Preflight => 15_000 * MS,
            Command::SetToggle { .. } => 40 * MS,
            Command::Collect { .. } => 230 * MS + late.unwrap_or(0),
            Command::SampleClock => 30 * MS,
            Command::Measure(_) | Command::KeepArm(_) => 60 * MS,
            Command::Seal(_) => 500 * MS,
            Command::OpenWindow | Command::StartDrain { .. } => 0,
            _ => 5 * MS,
        }
    }

    /// The answer to a command; `None` for the last.
    pub(super) fn answer(&mut self, now: Timestamp, command: Command) -> Option<Result> {
        Some(match command {
            Command::Journal(record) => self.journalled(*record),
            Command::Preflight => Ok(Answer::Preflight(Box::new(self.preflight()))),
            Command::ReadStatus => self.status(),
            Command::ReadSpace => Ok(Answer::Space(self.free())),
            Command::RenewLease => self.lease(),
            Command::ReadToggle { factor } | Command::VerifyToggle { factor, .. } => self.level(&factor),
            Command::SetToggle { factor, level } => self.set(now, &factor, &level),
            Command::ReadCounter { factor } => Ok(Answer::Counter(self.counter(now, &factor))),
            Command::StartWarmup => self.start_reports(now, Reporting::Warming(now)),
            Command::StartSettle => self.start_reports(now, Reporting::Settling(now)),
            Command::SampleClock => Ok(Answer::Clock(self.clock())),
            Command::StartArm(order) => {
                self.order = Some(*order);
                Ok(Answer::Done)
            }
            Command::OpenWindow => self.open_window(now),
            Command::StartDrain { index, timeout_ns, .. } => self.start_drain(now, index, timeout_ns),
            Command::CloseWindow => {
                self.close_window(now);
                Ok(Answer::Done)
            }
            Command::Collect { attempt } => Ok(Answer::Collected(self.collect(attempt))),
            Command::Measure(around) => Ok(Answer::Measured(Box::new(self.measure(*around)))),
            Command::KeepArm(arm) => self.keep(*arm),
            Command::Seal(_) => self.seal(),
            Command::DropArm { .. } => {
                self.close_window(now);
                self.order = None;
                Ok(Answer::Done)
            }
            Command::DropEvidence { places } => {
                self.arms.retain(|arm| !places.contains(&arm.place));
                self.dropped.extend(places);
                Ok(Answer::Done)
            }
            Command::Rejoin => Ok(Answer::Done),
            Command::Abort { .. } | Command::Exit(_) => return None,
        })
    }

    fn journalled(&mut self, record: Record) -> Result {
        if self.has(&Fault::JournalFails) {
            return Err(Failure::Disk("No space left on device".to_owned()));
        }
        if matches!(record, Record::ArmStart { .. }) {
            self.started += 1;
            self.reads = 0;
        }
        self.journal.push(record);
        Ok(Answer::Done)
    }

    fn preflight(&self) -> Preflight {
        let asked = 8 << 20;
        let small = self.has(&Fault::SmallBuffer);
        let hold_ns = if self.has(&Fault::ShortHold) { 230 * MS as u64 } else { 9_000_000_000 };
        let buffer = |stream: &crate::plan::PlanStream| Buffer {
            stream: stream.id.clone(),
            asked_bytes: asked,
            got_bytes: if small { 425_984 } else { asked },
            hold_ns,
            remedy: format!("sysctl -w net.core.rmem_max={}", asked / 2),
        };
        let silent = self.faults().filter_map(|fault| match fault {
            Fault::StreamSilent(id) => Some(id.clone()),
            _ => None,
        });
        Preflight {
            silent: silent.collect(),
            buffers: self.plan.stream.iter().map(buffer).collect(),
            stall: Some(StallControl {
                lost: 214,
                reported: if self.has(&Fault::StallUnreported) { 0 } else { 214 },
            }),
            free_bytes: self.free(),
            held_by: self.has(&Fault::Held).then(|| "run 7 on bench-2".to_owned()),
            unrestored: self.has(&Fault::Unrestored).then(|| "evidence/earlier".to_owned()),
            taken: if self.has(&Fault::PortTaken) {
                vec!["0.0.0.0:5568: in use".to_owned()]
            } else {
                Vec::new()
            },
            retention_ns: Some(RETENTION_NS),
        }
    }

    fn free(&self) -> u64 {
        let little = self.faults().find_map(|fault| match fault {
            Fault::LittleSpace(free) => Some(*free),
            _ => None,
        });
        little.unwrap_or(FREE)
    }

    fn status(&mut self) -> Result {
        let fails = self.faults().find_map(|fault| match fault {
            Fault::Unreachable { times } => Some(*times),
            _ => None,
        });
        self.reads += 1;
        if fails.is_some_and(|times| self.reads <= times) {
            return Err(Failure::Unreachable("503 Service Unavailable".to_owned()));
        }
        let mut values = self.plan.target.require.clone();
        let mut build = values.get("build").map(crate::runner::word).unwrap_or_default();
        if self.has(&Fault::OtherBuild) {
            "other".clone_into(&mut build);
            values.insert("build".to_owned(), Word::Text(build.clone()));
        }
        let throttled = self.faults().find_map(|fault| match fault {
            Fault::Throttled(flags) => Some(*flags),
            _ => None,
        });
        let boot = format!("boot-{}", self.boot);
        let status = Status {
            values,
            build,
            boot,
            generation: self.generation,
            throttled: throttled.or(Some(0)),
            fps_mhz: None,
        };
        Ok(Answer::Status(Box::new(status)))
    }

    fn lease(&self) -> Result {
        match self.has(&Fault::LeaseLost) {
            true => Err(Failure::Refused("run 8 on bench-2".to_owned())),
            false => Ok(Answer::Done),
        }
    }

    fn level(&self, factor: &str) -> Result {
        let toggle = self.plan.toggle.iter().find(|toggle| toggle.factor == factor);
        let standing = self.levels.get(factor).cloned().unwrap_or_default();
        let known = toggle.and_then(|toggle| toggle.verify.equals.get(&standing)).cloned();
        let value = known.clone().unwrap_or(Word::Text(standing.clone()));
        Ok(Answer::Level { level: known.map(|_| standing), value })
    }

    fn set(&mut self, now: Timestamp, factor: &str, level: &str) -> Result {
        let sets = self.sets.entry(factor.to_owned()).or_default();
        *sets += 1;
        let nth = *sets;
        for fault in self.faults() {
            match fault {
                Fault::ToggleStuck { factor: f, sets } if f == factor && nth <= *sets => {
                    return Ok(Answer::Done);
                }
                Fault::LevelRefused { factor: f, level: l } if f == factor && l == level => {
                    return Err(Failure::Refused("403 Forbidden".to_owned()));
                }
                _ => {}
            }
        }
        self.counter(now, factor);
        self.levels.insert(factor.to_owned(), level.to_owned());
        Ok(Answer::Done)
    }

    /// The counter of a factor's effect: it advances at the frame rate while its level says so.
    fn counter(&mut self, now: Timestamp, factor: &str) -> u64 {
        let nth = self.sets.get(factor).copied().unwrap_or_default();
        let idle = self.faults().any(
            |fault| matches!(fault, Fault::ToggleIdle { factor: f, sets } if f == factor && nth <= *sets),
        );
        let toggle = self.plan.toggle.iter().find(|toggle| toggle.factor == factor);
        let effect = toggle.and_then(|toggle| toggle.effect.as_ref());
        let level = self.levels.get(factor).cloned().unwrap_or_default();
        let advances = effect.is_some_and(|e| e.expect.get(&level) == Some(&Motion::Advances)) && !idle;
        let fps = u64::from(self.plan.target.expected_fps);
        let (count, at) = self.counters.entry(factor.to_owned()).or_insert((1000, now));
        if advances {
            *count += u64::try_from(now.since(*at)).unwrap_or(0) * fps / 1_000_000_000;
        }
        *at = now;
        *count
    }

    fn start_reports(&mut self, now: Timestamp, reporting: Reporting) -> Result {
        self.reporting = reporting;
        if matches!(reporting, Reporting::Warming(_)) {
            self.sampled += 1;
        }
        self.schedule(now.plus(200 * MS), Event::Report(reporting));
        Ok(Answer::Done)
    }

    pub(super) fn report(&mut self, now: Timestamp, reporting: Reporting) -> Option<Input> {
        let (input, again) = match reporting {
            Reporting::Nothing => return Some(Input::Tick),
            Reporting::Warming(began) => (Input::Warming(self.warming(now.since(began))), 1000 * MS),
            Reporting::Settling(began) => (Input::Settling(self.settled(now.since(began))), 200 * MS),
        };
        let ends = self.has(&Fault::ReportsEnd)
            && matches!(reporting, Reporting::Settling(began) if now.since(began) >= 2_000 * MS);
        if !ends {
            self.schedule(now.plus(again), Event::Report(reporting));
        }
        Some(input)
    }

    fn warming(&mut self, age_ns: i64) -> Warming {
        let moving = self.faults().any(|fault| match fault {
            Fault::StillWarming { times } => {
                age_ns / (self.plan.timing.warmup_ns.max(1) as i64) < i64::from(*times)
            }
            _ => false,
        });
        let fps = u64::from(self.plan.target.expected_fps) * 1_000_000;
        let climbing = if moving { (age_ns / 1_000_000) as u64 } else { 0 };
        let noise = self.noise.below(2000);
        let p50 = 5_120_000 + self.noise.milli_normal() * 5;
        Warming { rate_uhz: fps + climbing * 100 + noise, p50_ns: u64::try_from(p50).ok() }
    }

    fn settled(&self, age_ns: i64) -> Settling {
        let off = self.faults().find_map(|fault| match fault {
            Fault::RateOff(ppm) => Some(ppm.unsigned_abs()),
            _ => None,
        });
        let seen = age_ns >= 2_000 * MS;
        let gaps = u64::from(self.has(&Fault::SettlesWithGaps));
        Settling { rate_off_ppm: seen.then_some(off.unwrap_or(20)), gaps, generation: self.generation }
    }

    fn clock(&mut self) -> ClockSample {
        let after =
            self.order.as_ref().is_some_and(|_| self.opened.0 != 0 && self.reporting == Reporting::Nothing);
        let step = self.faults().find_map(|fault| match fault {
            Fault::DeviceClockSteps(ns) if after => Some(*ns),
            _ => None,
        });
        ClockSample { offset_ns: OFFSET_NS + step.unwrap_or(0), error_ns: 150_000 }
    }

    /// Begins the window, and what goes wrong inside it.
    fn open_window(&mut self, now: Timestamp) -> Result {
        self.opened = now;
        self.reporting = Reporting::Nothing;
        for fault in self.faults().cloned().collect::<Vec<_>>() {
            match fault {
                Fault::Restarts => self.restart(),
                Fault::ToggleDrifts { factor, level } => {
                    self.levels.insert(factor, level);
                }
                Fault::TapDrops => {
                    self.note(now, "tap_dropped", "the tap dropped 12 datagrams, it is no evidence here")
                }
                Fault::LongGap => {
                    self.note(now, "estimated", "a gap of half the modulus or more: loss from time x rate")
                }
                _ => {}
            }
        }
        Ok(Answer::Done)
    }

    fn note(&mut self, now: Timestamp, code: &str, text: &str) {
        self.tell(now.plus(MS), Input::Noted { code: code.to_owned(), text: text.to_owned() });
    }

    fn collect(&self, attempt: u32) -> Collected {
        let bytes = self.plan.drain.as_ref().map_or(0, |drain| drain.expect_bytes);
        let mut collected = Collected { bytes, wrapped: false, stale: false, still_there: true, whole: true };
        for fault in self.faults() {
            match fault {
                Fault::CollectTruncated { times } if attempt <= *times => collected.bytes /= 2,
                Fault::RingStale { times } => collected.stale = attempt <= *times,
                Fault::RingWraps { still_there } => {
                    collected.wrapped = attempt == 1 || !still_there;
                    collected.still_there = *still_there;
                }
                _ => {}
            }
        }
        collected
    }

    fn keep(&mut self, arm: crate::arm::Arm) -> Result {
        if self.has(&Fault::KeepFails) {
            return Err(Failure::Disk("No space left on device".to_owned()));
        }
        let place = &arm.place;
        let path = format!("arms/b{:02}-p{}-a{}/frames.csv", place.block, place.position, place.attempt);
        let stored = Stored { sha256: Digest::of(path.as_bytes()), octets: arm.measured.frames.len() as u64 };
        self.arms.push(arm);
        self.order = None;
        self.opened = Timestamp(0);
        Ok(Answer::Kept(BTreeMap::from([(path, stored)])))
    }

    fn seal(&mut self) -> Result {
        if self.has(&Fault::SealFails) {
            return Err(Failure::Disk("No space left on device".to_owned()));
        }
        self.sealed = true;
        Ok(Answer::Done)
    }
}
