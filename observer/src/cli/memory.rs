//! Files in memory that belong to one process, by its number in their names: rings and control sockets. Gone with their
//! owner; what a killed one left is swept away by whoever comes next. Never touches a file whose owner may live.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs::{self, File, TryLockError};
use std::os::unix::net::UnixDatagram;
use std::path::{Path, PathBuf};

/// Where files in memory lie.
pub(super) const MEMORY: &str = "/dev/shm";
/// What their names begin with, in front of the owner's number.
const PREFIXES: [&str; 2] = ["wireproof-device-", "wireproof-demo-"];
/// What a ring leaves beside itself.
const BESIDE: [&str; 5] = ["", ".prev", ".places", ".new", ".lock"];

/// The name of this process's own file, such as `wireproof-demo-17.ring`.
pub(super) fn own_name(verb: &str, ending: &str) -> String {
    format!("wireproof-{verb}-{}.{ending}", std::process::id())
}

/// Removes a ring and what stands beside it; the lock goes last.
pub(super) fn remove_ring(path: &Path) {
    for ending in BESIDE {
        let mut name = path.as_os_str().to_owned();
        name.push(ending);
        // Not all of them are there.
        let _ = fs::remove_file(name);
    }
}

/// Removes what processes that were killed have left in a folder: how many files.
pub(super) fn sweep(folder: &Path) -> usize {
    let processes = Path::new("/proc");
    // Where processes cannot be seen, each may live.
    let is_dead = |owner: u32| !processes.join(owner.to_string()).exists();
    if processes.join("self").exists() { sweep_of(folder, &is_dead) } else { 0 }
}

fn sweep_of(folder: &Path, is_dead: &dyn Fn(u32) -> bool) -> usize {
    let mut left: BTreeMap<(OsString, u32), Vec<PathBuf>> = BTreeMap::new();
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let name = entry.file_name();
        if let Some((prefix, owner)) = name.to_str().and_then(owner) {
            left.entry((prefix.into(), owner)).or_default().push(entry.path());
        }
    }
    let dead = left.into_iter().filter(|((_, owner), _)| is_dead(*owner));
    dead.map(|(_, files)| remove_dead(&files)).sum()
}

/// The beginning of a name and the number in it, if it is one of ours.
fn owner(name: &str) -> Option<(&'static str, u32)> {
    let (prefix, rest) = PREFIXES.iter().find_map(|prefix| Some((*prefix, name.strip_prefix(prefix)?)))?;
    let (digits, ending) = rest.split_once('.')?;
    let is_ring = ending.strip_prefix("ring").is_some_and(|ending| BESIDE.contains(&ending));
    // Beside a control socket lie those that its answers came to.
    let is_control = ending == "ctl" || ending.starts_with("ctl.");
    let number = digits.parse().ok().filter(|n: &u32| n.to_string() == digits);
    number.filter(|_| is_ring || is_control).map(|number| (prefix, number))
}

/// Removes the files of one dead owner, unless somebody holds the ring's lock or listens at the socket after all: a
/// process of that number may live where this one cannot see it.
fn remove_dead(files: &[PathBuf]) -> usize {
    let ends = |ending: &'static str| files.iter().find(move |path| path.to_string_lossy().ends_with(ending));
    let listens = |path: &PathBuf| UnixDatagram::unbound().and_then(|probe| probe.connect(path)).is_ok();
    if ends(".ctl").is_some_and(listens) {
        return 0;
    }
    // Held until the files are gone.
    let lock = ends(".lock").map(File::open);
    match lock.as_ref().map(|lock| lock.as_ref().map(File::try_lock)) {
        None | Some(Ok(Ok(()))) => {}
        Some(Ok(Err(TryLockError::WouldBlock | TryLockError::Error(_))) | Err(_)) => return 0,
    }
    files.iter().filter(|path| fs::remove_file(path).is_ok()).count()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(folder: &Path) -> Vec<String> {
        let mut names: Vec<String> =
            fs::read_dir(folder).unwrap().map(|e| e.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }

    #[test]
    fn what_the_dead_left_goes_and_everything_else_stays() {
        let folder = tempfile::tempdir().unwrap();
        let put = |name: &str| fs::write(folder.path().join(name), "").unwrap();
        let dead = [
            "device-17.ring",
            "device-17.ring.new",
            "device-17.ring.lock",
            "demo-17.ring.prev",
            "device-18.ctl.9-1",
        ];
        dead.iter().for_each(|name| put(&format!("wireproof-{name}")));
        drop(UnixDatagram::bind(folder.path().join("wireproof-device-18.ctl")).unwrap());
        let kept = [
            "wireproof-demo-017.ring",
            "wireproof-demo-17.ring.mine",
            "wireproof-demo-17.txt",
            "wireproof-demo-99.ring",
            "wireproof-device-19.ring.mine",
            "wireproof-ring-17.ring",
        ];
        kept.iter().for_each(|name| put(name));
        assert_eq!(sweep_of(folder.path(), &|owner| owner < 90), 6);
        assert_eq!(names(folder.path()), kept);
        assert_eq!(sweep_of(Path::new("/nowhere"), &|_| true), 0);
    }

    #[test]
    fn a_lock_that_is_held_or_a_socket_that_listens_speaks_for_a_living_owner() {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(format!("wireproof-device-{name}"));
        let lock = File::create(path("17.ring.lock")).unwrap();
        lock.lock().unwrap();
        fs::write(path("17.ring"), "").unwrap();
        let socket = UnixDatagram::bind(path("18.ctl")).unwrap();
        assert_eq!(sweep_of(folder.path(), &|_| true), 0);
        drop((lock, socket));
        assert_eq!(sweep_of(folder.path(), &|_| true), 3);
    }

    #[test]
    fn a_process_that_runs_is_not_dead() {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join(own_name("device", "ring")), "").unwrap();
        assert_eq!(sweep(folder.path()), 0);
        remove_ring(&folder.path().join(own_name("device", "ring")));
        assert_eq!(names(folder.path()), Vec::<String>::new());
    }
}
