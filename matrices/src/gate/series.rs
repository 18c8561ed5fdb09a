//! The arms of a gate as series: values by arm, drift in run order, outliers. Nothing here decides.

use super::blocks::Side;
use super::{Scale, run_order};
use crate::arm::{Arm, Place};
use crate::levels::Layout;
use crate::metrics::Reading;
use crate::number::Number;
use crate::stats::{Fences, fences, kendall_p, kendall_s, median, theil_sen};
use crate::verdict::{DriftRow, OutlierRow};
use std::collections::BTreeMap;

/// Fewest arms of which quartiles or a trend are worth naming.
const FEW: usize = 4;
/// A trend is reported below this probability.
const DRIFT_P: f64 = 0.01;

/// Values by stream and arm; an arm that is in several comparisons is there once.
#[derive(Debug, Default)]
pub(super) struct Series<'a> {
    by_stream: BTreeMap<Option<String>, BTreeMap<Place, (&'a Arm, Reading)>>,
}

impl<'a> Series<'a> {
    pub(super) fn add(&mut self, stream: Option<&String>, sides: &[Side<'a>]) {
        let arms = self.by_stream.entry(stream.cloned()).or_default();
        for (arm, reading) in sides {
            if let Some(reading) = reading {
                arms.entry(arm.place.clone()).or_insert((*arm, *reading));
            }
        }
    }

    /// Place, series name and value of every arm.
    pub(super) fn values(&self, metric: &str) -> Vec<(Place, String, Number)> {
        let mut rows = Vec::new();
        for (stream, arms) in &self.by_stream {
            let name = series_name(metric, stream.as_deref());
            rows.extend(arms.iter().map(|(place, (_, r))| (place.clone(), name.clone(), Number(r.value()))));
        }
        rows
    }
}

/// Name of a series: the metric, or metric and stream.
pub(crate) fn series_name(metric: &str, stream: Option<&str>) -> String {
    stream.map_or_else(|| metric.to_owned(), |stream| format!("{metric}:{stream}"))
}

/// Trends of what the treatments leave, stratum by stratum; the first stream stands for all.
pub(super) fn drift(layout: &Layout, all: &Series<'_>, scale: Scale, margin: f64) -> Vec<DriftRow> {
    let Some(arms) = all.by_stream.values().next() else {
        return Vec::new();
    };
    let mut strata: BTreeMap<u32, Vec<(&Arm, Reading)>> = BTreeMap::new();
    for (arm, reading) in arms.values() {
        strata.entry(arm.place.stratum).or_default().push((arm, *reading));
    }
    strata.into_iter().filter_map(|(s, arms)| drift_row(layout.stratum(s), arms, scale, margin)).collect()
}

fn drift_row(stratum: &str, mut arms: Vec<(&Arm, Reading)>, scale: Scale, margin: f64) -> Option<DriftRow> {
    arms.sort_by_key(|(arm, _)| run_order(arm));
    let mut groups: BTreeMap<u32, Vec<f64>> = BTreeMap::new();
    for (arm, reading) in &arms {
        groups.entry(arm.place.treatment).or_default().push(reading.value());
    }
    let residual = |(arm, reading): &(&Arm, Reading)| {
        let centre = Reading::Value(median(&groups[&arm.place.treatment])?);
        scale.difference(Reading::Value(reading.value()), centre)
    };
    let residuals: Vec<f64> = arms.iter().filter_map(residual).collect();
    trend(stratum, &residuals, margin)
}

/// The trend of residuals in run order; `None` of too few.
pub fn trend(stratum: &str, residuals: &[f64], margin: f64) -> Option<DriftRow> {
    let slope = theil_sen(residuals).filter(|_| residuals.len() >= FEW)?;
    let s = kendall_s(residuals);
    let (p, total) = (kendall_p(residuals.len(), s), slope * (residuals.len() - 1) as f64);
    Some(DriftRow {
        stratum: stratum.to_owned(),
        arms: u32::try_from(residuals.len()).unwrap_or(u32::MAX),
        kendall_s: s,
        p: Number(p),
        slope_per_arm: Number(slope),
        total: Number(total),
        reported: p < DRIFT_P && total.abs() > margin / 2.0,
    })
}

/// Arms outside the fences of their treatment.
pub(super) fn outliers(layout: &Layout, all: &Series<'_>) -> Vec<OutlierRow> {
    let mut rows = Vec::new();
    for (stream, arms) in &all.by_stream {
        let mut groups: BTreeMap<u32, Vec<f64>> = BTreeMap::new();
        for (arm, reading) in arms.values() {
            groups.entry(arm.place.treatment).or_default().push(reading.value());
        }
        for (arm, reading) in arms.values() {
            let Some(fences) = fenced(&groups[&arm.place.treatment]) else { continue };
            let value = reading.value();
            let (mild, severe) = (fences.mild(value), fences.severe(value));
            if mild || severe {
                let arm = series_name(&layout.arm_name(arm), stream.as_deref());
                rows.push(OutlierRow { arm, value: Number(value), severe });
            }
        }
    }
    rows
}

fn fenced(values: &[f64]) -> Option<Fences> {
    (values.len() >= FEW).then(|| fences(values)).flatten()
}

/// A test for severe outliers of these values.
pub(super) fn severe(values: &[&[f64]]) -> impl Fn(f64) -> bool + use<> {
    let fences: Vec<Fences> = values.iter().filter_map(|values| fenced(values)).collect();
    move |value| fences.iter().any(|fences| fences.severe(value))
}
