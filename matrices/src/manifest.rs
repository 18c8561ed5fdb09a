//! The manifest of a bundle, `sha256sum` format: every file but itself, by path in order of octets. It is the seal.
//!
//! It compares names and hashes that others took; it opens no file.

use crate::digest::Digest;
use std::collections::BTreeMap;

/// Name of the manifest in a bundle.
pub const MANIFEST: &str = "manifest.sha256";
/// Most files of a manifest.
pub const MAX_FILES: usize = 1 << 20;
/// Longest path in a manifest, octets.
pub const MAX_PATH: usize = 1024;

/// A manifest.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Manifest {
    /// Path with forward slashes, relative to the bundle, to its hash.
    pub files: BTreeMap<String, Digest>,
}

/// A manifest that cannot be trusted.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("line {line}: {problem}")]
pub struct ManifestError {
    /// Line, from 1.
    pub line: usize,
    /// What is wrong with it.
    pub problem: &'static str,
}

/// How a file differs from the manifest.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, thiserror::Error)]
pub enum Difference {
    /// Listed and not there.
    #[error("{0}: missing")]
    Missing(String),
    /// There and not listed.
    #[error("{0}: not in the manifest")]
    Extra(String),
    /// Its octets are not those that were sealed.
    #[error("{0}: changed")]
    Changed(String),
}

impl Manifest {
    /// The text, `<sha256>  <path>` a line.
    pub fn render(&self) -> String {
        self.files.iter().map(|(path, digest)| format!("{digest}  {path}\n")).collect()
    }

    /// Reads octets that nobody vouches for.
    ///
    /// # Errors
    /// The first line that is not `<sha256>  <path>`, is out of order, or leads out of the bundle.
    pub fn parse(octets: &[u8]) -> Result<Manifest, ManifestError> {
        let mut files: BTreeMap<String, Digest> = BTreeMap::new();
        for (line, body) in (1..).zip(octets.split_inclusive(|octet| *octet == b'\n')) {
            let refuse = |problem| ManifestError { line, problem };
            if line > MAX_FILES {
                return Err(refuse("too many files"));
            }
            let (digest, path) = entry(body).map_err(refuse)?;
            if files.last_key_value().is_some_and(|(last, _)| *last >= path) {
                return Err(refuse("paths are not in order, or one is listed twice"));
            }
            files.insert(path, digest);
        }
        Ok(Manifest { files })
    }

    /// Lays what is there beside what is listed: every missing, extra and changed file, by path.
    pub fn check(&self, there: &BTreeMap<String, Digest>) -> Vec<Difference> {
        let listed = self.files.iter().filter_map(|(path, digest)| match there.get(path) {
            None => Some(Difference::Missing(path.clone())),
            Some(found) if found != digest => Some(Difference::Changed(path.clone())),
            Some(_) => None,
        });
        let extra = there.keys().filter(|path| !self.files.contains_key(*path) && path.as_str() != MANIFEST);
        let mut all: Vec<Difference> = listed.chain(extra.cloned().map(Difference::Extra)).collect();
        all.sort_by(|a, b| a.path().cmp(b.path()));
        all
    }
}

impl Difference {
    /// The path it is about.
    pub fn path(&self) -> &str {
        match self {
            Difference::Missing(path) | Difference::Extra(path) | Difference::Changed(path) => path,
        }
    }
}

fn entry(line: &[u8]) -> Result<(Digest, String), &'static str> {
    let body = line.strip_suffix(b"\n").ok_or("the last line is torn")?;
    let text = std::str::from_utf8(body).map_err(|_| "not UTF-8")?;
    let (digest, path) = text.split_once("  ").ok_or("not '<sha256>  <path>'")?;
    let digest = digest.parse().map_err(|_| "not a SHA-256: 64 lower-case hexadecimal digits")?;
    path_ok(path)?;
    Ok((digest, path.to_owned()))
}

/// A path that stays in its folder on every system, and that `sha256sum` writes without escapes.
///
/// # Errors
/// What is wrong with it.
pub fn path_ok(path: &str) -> Result<(), &'static str> {
    if path.is_empty() || path.len() > MAX_PATH {
        return Err("an empty path or one over 1024 octets");
    }
    if path.chars().any(|c| c.is_control() || matches!(c, '\\' | ':')) {
        return Err("a path with a control character, a backslash or a colon");
    }
    if path.starts_with('/') {
        return Err("an absolute path");
    }
    if path.split('/').any(|part| matches!(part, "" | "." | "..")) {
        return Err("a path that leaves its folder or is not plain");
    }
    if path == MANIFEST { Err("the manifest lists itself") } else { Ok(()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn manifest(files: &[(&str, &str)]) -> Manifest {
        Manifest { files: hashes(files) }
    }

    fn hashes(files: &[(&str, &str)]) -> BTreeMap<String, Digest> {
        files.iter().map(|(path, text)| ((*path).to_owned(), Digest::of(text.as_bytes()))).collect()
    }

    #[test]
    fn the_worked_case_comes_out_exactly() {
        let case = crate::golden::case("manifest");
        let files = case["input"]["files"].as_object().unwrap();
        let files = files.iter().map(|(p, t)| (p.clone(), Digest::of(t.as_str().unwrap().as_bytes())));
        let manifest = Manifest { files: files.collect() };
        let text = manifest.render();
        assert_eq!(Some(text.as_str()), case["expected"]["manifest"].as_str());
        let sha256 = Digest::of(text.as_bytes()).to_string();
        assert_eq!(Some(sha256.as_str()), case["expected"]["manifest_sha256"].as_str());
        assert_eq!(Manifest::parse(text.as_bytes()), Ok(manifest));
    }

    #[test]
    fn paths_are_sorted_by_octets() {
        let text = manifest(&[("a/b", ""), ("a-b", ""), ("a", ""), ("Z", ""), ("é", "")]).render();
        let order: Vec<&str> = text.lines().map(|l| &l[66..]).collect();
        assert_eq!(order, ["Z", "a", "a-b", "a/b", "é"]);
    }

    #[test]
    fn every_missing_extra_and_changed_file_is_named() {
        let sealed = manifest(&[("a", "1"), ("b", "2"), ("c", "3")]);
        let there = hashes(&[("a", "1"), ("b", "x"), ("d", "4"), (MANIFEST, "")]);
        let all: Vec<String> = sealed.check(&there).iter().map(ToString::to_string).collect();
        assert_eq!(all, ["b: changed", "c: missing", "d: not in the manifest"]);
        assert_eq!(sealed.check(&hashes(&[("a", "1"), ("b", "2"), ("c", "3")])), []);
    }

    #[test]
    fn paths_that_leave_the_bundle_are_refused() {
        let digest = Digest::of(b"");
        for bad in
            ["/etc/passwd", "../x", "a/../../x", "a//b", "./a", "a/", "", "a\\b", "C:/x", "a\tb", MANIFEST]
        {
            let text = format!("{digest}  {bad}\n");
            assert_eq!(Manifest::parse(text.as_bytes()).unwrap_err().line, 1, "{bad}");
        }
        let long = format!("{digest}  {}\n", "a".repeat(MAX_PATH + 1));
        assert!(Manifest::parse(long.as_bytes()).is_err());
        let rest = ["a.b", "..a", "a/..b", "b01-p1-drain=raw,preview=on-a1/arm.json"];
        assert!(rest.iter().all(|good| path_ok(good).is_ok()));
    }

    #[test]
    fn lines_out_of_order_twice_or_torn_are_refused() {
        let d = Digest::of(b"");
        for (text, line) in [
            (format!("{d}  b\n{d}  a\n"), 2),
            (format!("{d}  a\n{d}  a\n"), 2),
            (format!("{d}  a\n{d}  b"), 2),
            (format!("{d} *a\n"), 1),
            (format!("{}  a\n", "0".repeat(63)), 1),
            ("\n".to_owned(), 1),
        ] {
            assert_eq!(Manifest::parse(text.as_bytes()).unwrap_err().line, line, "{text}");
        }
        assert_eq!(Manifest::parse(b""), Ok(Manifest::default()));
    }

    proptest::proptest! {
        #[test]
        fn any_octets_are_read_without_a_panic(octets in proptest::collection::vec(proptest::prelude::any::<u8>(), 0..300)) {
            let text = [format!("{}  a\n", Digest::of(b"")).as_bytes(), octets.as_slice()].concat();
            if let Ok(manifest) = Manifest::parse(&text) {
                proptest::prop_assert_eq!(manifest.render().into_bytes(), text);
            }
        }
    }
}
