//! Licences and origins of every package in the lock file, the part of `deny.toml` that needs no other tool.

use cargo_metadata::Metadata;

/// Licences that ask for no more than a notice; the list of `deny.toml`.
const ALLOWED: &[&str] = &[
    "0BSD",
    "Apache-2.0",
    "Apache-2.0 WITH LLVM-exception",
    "BSD-2-Clause",
    "BSD-3-Clause",
    "BSL-1.0",
    "CC0-1.0",
    "ISC",
    "MIT",
    "MIT-0",
    "Unicode-3.0",
    "Unlicense",
    "Zlib",
];
const REGISTRY: &str = "registry+https://github.com/rust-lang/crates.io-index";

/// Name, licence expression and source of a package; no source for one of ours.
pub(crate) type Entry = (String, Option<String>, Option<String>);

/// Every package of the lock file.
pub(crate) fn of(metadata: &Metadata) -> Vec<Entry> {
    let source = |p: &cargo_metadata::Package| p.source.as_ref().map(|s| s.repr.clone());
    metadata.packages.iter().map(|p| (p.name.to_string(), p.license.clone(), source(p))).collect()
}

/// One line for each package that is not allowed.
pub(crate) fn check(packages: &[Entry]) -> Vec<String> {
    let mut problems = Vec::new();
    for (name, license, source) in packages {
        match license {
            Some(expression) if allowed(expression) => {}
            other => problems.push(format!("{name}: licence {other:?} is not on the list")),
        }
        if source.as_ref().is_some_and(|s| s != REGISTRY) {
            problems.push(format!("{name}: comes from {source:?}, not from the registry"));
        }
    }
    problems
}

/// Evaluates an SPDX expression: `OR` needs one allowed side, `AND` every side. Brackets bind one level deep.
fn allowed(expression: &str) -> bool {
    let expression = expression.replace('/', " OR ");
    let mut depth = 0;
    let mut flat = String::new();
    let mut inner = String::new();
    for c in expression.chars() {
        match c {
            '(' if depth == 0 => depth = 1,
            ')' if depth == 1 => {
                flat.push_str(if simple(&inner) { "MIT" } else { "none" });
                inner.clear();
                depth = 0;
            }
            '(' | ')' => return false,
            c if depth == 0 => flat.push(c),
            c => inner.push(c),
        }
    }
    depth == 0 && simple(&flat)
}

/// An expression without brackets; `AND` binds closer than `OR`.
fn simple(expression: &str) -> bool {
    let known = |id: &str| ALLOWED.contains(&id.trim());
    expression.split(" OR ").any(|side| side.split(" AND ").all(known))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn expressions_are_evaluated() {
        for good in
            ["MIT", "MIT OR Apache-2.0", "MIT/Apache-2.0", "GPL-3.0 OR MIT", "(MIT OR GPL-2.0) AND ISC"]
        {
            assert!(allowed(good), "{good}");
        }
        let strict = ["GPL-3.0", "MIT AND GPL-3.0", "(MIT AND GPL-2.0) OR GPL-3.0", "((MIT))", "(MIT", ""];
        for bad in strict {
            assert!(!allowed(bad), "{bad}");
        }
    }

    #[test]
    fn a_package_without_licence_or_from_elsewhere_is_found() {
        let registry = Some(REGISTRY.to_owned());
        let packages = [
            ("good".to_owned(), Some("MIT".to_owned()), registry.clone()),
            ("own".to_owned(), Some("MIT OR Apache-2.0".to_owned()), None),
            ("bare".to_owned(), None, registry),
            ("forked".to_owned(), Some("MIT".to_owned()), Some("git+https://example.org/x".to_owned())),
        ];
        let found = check(&packages);
        assert_eq!(found.len(), 2);
        assert!(found[0].starts_with("bare: licence"));
        assert!(found[1].starts_with("forked: comes from"));
    }
}
