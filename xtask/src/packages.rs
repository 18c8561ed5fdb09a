//! Dependency directions between the packages of the workspace, and what a pure package never depends on.

use cargo_metadata::{DependencyKind, Metadata};

/// Which of our packages a package may depend on, by folder.
const DIRECTIONS: &[(&str, &[&str])] = &[
    ("protocols", &[]),
    ("recorder", &[]),
    ("recorder-c", &["recorder"]),
    ("encoders", &["protocols"]),
    ("matrices", &["protocols"]),
    ("reports", &["matrices", "recorder", "protocols"]),
    ("fixture", &["encoders", "recorder", "protocols"]),
    ("observer", &["reports", "matrices", "encoders", "recorder", "protocols", "fixture"]),
    ("xtask", &[]),
];

/// Packages that never touch the world.
const PURE: &[&str] = &["protocols", "encoders", "matrices", "reports"];

/// Crates that do.
const WORLDLY: &[&str] = &["tokio", "socket2", "pcap", "libc", "nix"];
const WORLDLY_PREFIX: &str = "pnet";

/// A package of the workspace, by folder.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Package {
    pub(crate) folder: String,
    /// Folders of ours it depends on, development and build dependencies included.
    pub(crate) ours: Vec<String>,
    /// Names of other direct, normal dependencies.
    pub(crate) others: Vec<String>,
}

/// The packages of a workspace.
pub(crate) fn of(metadata: &Metadata) -> Vec<Package> {
    let members = metadata.workspace_packages();
    let folder = |package: &cargo_metadata::Package| {
        package.manifest_path.parent().and_then(|p| p.file_name()).unwrap_or_default().to_owned()
    };
    let ours = |name: &str| members.iter().find(|p| p.name.as_str() == name).map(|p| folder(p));
    let package = |p: &&cargo_metadata::Package| Package {
        folder: folder(p),
        ours: p.dependencies.iter().filter_map(|d| ours(&d.name)).collect(),
        others: p
            .dependencies
            .iter()
            .filter(|d| d.kind == DependencyKind::Normal && ours(&d.name).is_none())
            .map(|d| d.name.clone())
            .collect(),
    };
    members.iter().map(package).collect()
}

/// One line for each dependency that points the wrong way.
pub(crate) fn check(packages: &[Package]) -> Vec<String> {
    packages.iter().flat_map(|p| directions(p).into_iter().chain(purity(p))).collect()
}

fn directions(package: &Package) -> Vec<String> {
    let Some((_, allowed)) = DIRECTIONS.iter().find(|(folder, _)| *folder == package.folder) else {
        return vec![format!("{}: no dependency direction is set for this package", package.folder)];
    };
    let wrong = package.ours.iter().filter(|name| !allowed.contains(&name.as_str()));
    wrong.map(|name| format!("{}: must not depend on {name}", package.folder)).collect()
}

fn purity(package: &Package) -> Vec<String> {
    if !PURE.contains(&package.folder.as_str()) {
        return Vec::new();
    }
    let worldly = |name: &&String| WORLDLY.contains(&name.as_str()) || name.starts_with(WORLDLY_PREFIX);
    let wrong = package.others.iter().filter(worldly);
    wrong.map(|name| format!("{}: is pure and must not depend on {name}", package.folder)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn package(folder: &str, ours: &[&str], others: &[&str]) -> Package {
        let owned = |names: &[&str]| names.iter().map(|n| (*n).to_owned()).collect();
        Package { folder: folder.to_owned(), ours: owned(ours), others: owned(others) }
    }

    #[test]
    fn the_drawn_directions_are_allowed() {
        let packages = [
            package("encoders", &["protocols"], &[]),
            package("reports", &["protocols", "recorder"], &["serde"]),
            package("observer", &["reports", "fixture"], &["libc", "socket2"]),
        ];
        assert_eq!(check(&packages), Vec::<String>::new());
    }

    #[test]
    fn a_dependency_against_the_direction_is_found() {
        let packages =
            [package("protocols", &["encoders"], &[]), package("encoders", &["reports", "protocols"], &[])];
        let expected = ["protocols: must not depend on encoders", "encoders: must not depend on reports"];
        assert_eq!(check(&packages), expected);
    }

    #[test]
    fn a_pure_package_with_a_socket_is_found() {
        let packages = [package("reports", &[], &["serde", "tokio", "pnet_packet", "pcap-types"])];
        let expected = [
            "reports: is pure and must not depend on tokio",
            "reports: is pure and must not depend on pnet_packet",
        ];
        assert_eq!(check(&packages), expected);
    }

    #[test]
    fn a_package_without_a_direction_is_found() {
        let found = check(&[package("common", &[], &[])]);
        assert_eq!(found, ["common: no dependency direction is set for this package"]);
    }
}
