//! A baseline (`wireproof.baseline/1`): the figures of one good run, chosen by hand, and everything that another run must
//! have in common with it. It is built from a verdict that was checked elsewhere and judges nothing.

use crate::csv::cell;
use crate::json::Safe;
use crate::sheet::{Align, Grid, Part, Sheet};
use crate::text::rfc3339;
use crate::{Format, RenderError, Style};
use serde::{Deserialize, Serialize};
use serde_json::ser::Serializer;
use std::io::Write;
use wireproof_matrices::compare::{DASH, Facts, Figure, Identity, Measure};
use wireproof_matrices::number::Number;
use wireproof_matrices::plan::{Class, Plan};
use wireproof_matrices::verdict::{Outcome, Verdict};

/// Name and version of the record.
pub const SCHEMA: &str = "wireproof.baseline/1";

/// A run that was chosen as what others are compared with.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Baseline {
    /// [`SCHEMA`].
    pub schema: String,
    /// Its name.
    pub name: String,
    /// When it was chosen, ns since 1970.
    pub set_ns: i64,
    /// Name and version of the program that wrote it.
    pub set_by: String,
    /// Why it was chosen; null when nobody said.
    pub reason: Option<String>,
    /// The run.
    pub run: Snapshot,
}

/// What is compared of a run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Snapshot {
    /// Name of the bundle's folder.
    pub bundle: String,
    /// SHA-256 of its manifest, the seal; null of a run that is not sealed.
    pub manifest_sha256: Option<String>,
    /// Name of the plan.
    pub plan: String,
    /// Hash of the plan.
    pub plan_sha256: String,
    /// True when the hash was given before the run.
    pub pre_registered: bool,
    /// This was run `attempt` ...
    pub attempt: u32,
    /// ... of `attempts` with this plan.
    pub attempts: u32,
    /// What the run amounts to.
    pub verdict: Outcome,
    /// What it must have in common with others.
    pub identity: Identity,
    /// What was so on the bench and the device.
    pub conditions: Conditions,
    /// Its figures, in the order of its gates.
    pub figures: Vec<Figure>,
}

/// What was so while a run was made; null where nobody knows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Conditions {
    /// Load average of the bench over a minute at the start.
    pub load: Option<Number>,
    /// Every flag that the device set because it slowed itself down, in any arm; 0: none.
    pub throttled: Option<u64>,
}

impl Conditions {
    /// The facts that budgets ask for.
    pub fn facts(&self) -> Facts {
        #[expect(clippy::cast_possible_truncation, reason = "a cast saturates")]
        let thousandths = |load: Number| (load.0 * 1000.0).round() as i64;
        Facts {
            load: self.load.map(thousandths),
            throttled: self.throttled.map(|flags| i64::try_from(flags).unwrap_or(i64::MAX)),
        }
    }

    /// In words.
    pub(crate) fn words(&self) -> String {
        let load = self.load.map_or_else(|| "unknown".to_owned(), |load| format!("{:.2}", load.0));
        let throttled = match self.throttled {
            None => "unknown".to_owned(),
            Some(0) => "no".to_owned(),
            Some(flags) => format!("yes ({flags:#x})"),
        };
        format!("load average {load}, throttled {throttled}")
    }
}

impl Snapshot {
    /// Of a judged run; what only its folder tells is left empty.
    pub fn of(plan: &Plan, verdict: &Verdict, device_build: &str, conditions: Conditions) -> Snapshot {
        Snapshot {
            bundle: String::new(),
            manifest_sha256: None,
            plan: verdict.name.clone(),
            plan_sha256: verdict.plan_sha256.clone(),
            pre_registered: verdict.pre_registered,
            attempt: verdict.attempt,
            attempts: verdict.attempts,
            verdict: verdict.verdict,
            identity: Identity::of(plan, &verdict.gates_sha256, device_build),
            conditions,
            figures: wireproof_matrices::compare::figures(plan, verdict),
        }
    }

    /// Metrics and the versions of their definitions, in words.
    pub(crate) fn definitions(&self) -> String {
        let one = |(metric, version): (&String, &u32)| format!("{metric} {version}");
        self.identity.metrics.iter().map(one).collect::<Vec<_>>().join(", ")
    }
}

impl Baseline {
    /// The formats of a baseline, in the order of the help text.
    pub const FORMATS: [Format; 5] =
        [Format::Table, Format::Json, Format::Csv, Format::Markdown, Format::Html];

    /// Writes the record; the octets depend on the arguments alone.
    ///
    /// # Errors
    /// [`RenderError::Write`] when the writer fails, [`RenderError::Encode`] for a format that a baseline has not.
    pub fn render(&self, format: Format, style: Style, out: &mut dyn Write) -> Result<(), RenderError> {
        if let Some(written) = self.sheet().render(format, style, out) {
            return written;
        }
        match format {
            Format::Json => pretty(self, out),
            Format::Csv => self.csv(out),
            _ => Err(format.missing("a baseline")),
        }
    }

    fn sheet(&self) -> Sheet {
        let (run, id) = (&self.run, &self.run.identity);
        let registered = if run.pre_registered { "yes" } else { "no" };
        let pins = id.pins.iter().map(|(key, value)| format!(", pinned {key}={value}")).collect::<String>();
        let facts = Grid::facts([
            ("set", format!("{} by {}", rfc3339(self.set_ns, 6), self.set_by)),
            ("why", self.reason.clone().unwrap_or_else(|| "no reason was given".to_owned())),
            ("bundle", run.bundle.clone()),
            ("manifest", run.manifest_sha256.clone().unwrap_or_else(|| DASH.to_owned())),
            ("plan", format!("{}, hash {}, pre-registered {registered}", run.plan, run.plan_sha256)),
            ("run", format!("{}, attempt {} of {}", run.verdict.word(), run.attempt, run.attempts)),
            ("device", format!("build {}{pins}, {} frames a second", id.device_build, id.fps)),
            ("gates", id.gates_sha256.clone()),
            ("metrics", format!("definitions: {}", run.definitions())),
            ("bench", run.conditions.words()),
        ]);
        let columns = [("metric", Align::Left), ("value", Align::Right), ("unit", Align::Left)];
        let columns = columns.into_iter().chain([("class", Align::Left)]);
        let columns = columns.map(|(name, align)| (name.to_owned(), align)).collect();
        let row = |f: &Figure| {
            vec![
                f.metric.clone(),
                f.unit.text(f.value.into()),
                f.unit.word().to_owned(),
                class(f.class).to_owned(),
            ]
        };
        let grid = Grid { columns, rows: run.figures.iter().map(row).collect(), spare: Vec::new() };
        let parts = vec![
            Part::default().grid(facts),
            Part::new("streams").list(id.streams.iter().cloned()),
            Part::new("figures").grid(grid),
        ];
        Sheet { word: "BASELINE".to_owned(), title: self.name.clone(), parts }
    }

    fn csv(&self, out: &mut dyn Write) -> Result<(), RenderError> {
        let mut writer = csv::WriterBuilder::new().terminator(csv::Terminator::CRLF).from_writer(out);
        writer.write_record(["baseline", "bundle", "metric", "class", "unit", "value", "floor"])?;
        for f in &self.run.figures {
            writer.write_record([
                cell(&self.name),
                cell(&self.run.bundle),
                cell(&f.metric),
                class(f.class).to_owned(),
                Measure::name(f.unit).to_owned(),
                f.value.to_string(),
                f.floor.to_string(),
            ])?;
        }
        Ok(writer.flush()?)
    }
}

/// The word of a class, as in JSON.
pub(crate) fn class(class: Class) -> &'static str {
    match class {
        Class::Gate => "gate",
        Class::Diagnostic => "diagnostic",
    }
}

/// Any record with two spaces of indentation and a line feed at the end.
pub(crate) fn pretty<T: Serialize>(record: &T, out: &mut dyn Write) -> Result<(), RenderError> {
    let mut out = out;
    record.serialize(&mut Serializer::with_formatter(&mut out, Safe::shortest()))?;
    Ok(out.write_all(b"\n")?)
}
