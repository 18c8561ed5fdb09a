//! Rights that are given up once everything that takes them is open: capabilities, the bounding set, the way to new
//! ones, and root's user id where somebody else is behind the run.
//!
//! Owns whose rights a run goes on with, and the calls that make it so. Opens nothing, and gives nothing up halfway.

mod account;

#[cfg(target_os = "linux")]
mod give_up;

pub use account::{Account, Choice, choose};

use std::io;
use std::path::Path;
use thiserror::Error;

/// Names and numbers of users.
#[cfg(target_os = "linux")]
const USERS: &str = "/etc/passwd";
/// Groups and who is in them.
#[cfg(target_os = "linux")]
const GROUPS: &str = "/etc/group";

/// Why the run does not go on with fewer rights.
#[derive(Debug, Error)]
pub enum PrivilegeError {
    /// Nobody of that name.
    #[error(
        "--user {0}: there is no such user in /etc/passwd: give a name from there, UID:GID, or root to keep all rights"
    )]
    NoUser(String),
    /// The call has no right to become somebody else.
    #[error("--user {0} takes root's rights: start it with sudo, or leave --user out")]
    NotRoot(String),
    /// The system refuses.
    #[error("the rights of root cannot be given up ({0}): --user root keeps them")]
    Refused(io::Error),
}

/// What a run takes after it gave its rights up.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Needs {
    /// Priority of a thread under SCHED_FIFO.
    pub realtime: Option<u8>,
    /// What sources are opened with that are opened anew: for each window of a soak, each arm of a matrix.
    pub reopens: Reopens,
    /// It starts programs that somebody named, which have the rights of their user, and none of those kept here.
    pub programs: bool,
}

/// Rights that opening a source takes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Reopens {
    /// An interface.
    pub raw: bool,
    /// A receive buffer beyond the kernel's limit.
    pub admin: bool,
    /// A port below 1,024.
    pub bind: bool,
}

/// What a run goes on with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lowered {
    /// Whose rights these are, for people.
    pub who: String,
    /// One line about what was given up.
    pub note: String,
}

/// Gives up what is not needed once sources and listeners are open. `None` when there was nothing to give up, or
/// everything is to be kept. Has to be called before the first thread is started: Linux knows rights by thread.
///
/// # Errors
/// [`PrivilegeError`]; the process has to end then.
#[cfg(target_os = "linux")]
pub fn lower(user: Option<&str>, needs: Needs) -> Result<Option<Lowered>, PrivilegeError> {
    let read = |path: &str| std::fs::read_to_string(Path::new(path)).unwrap_or_default();
    let variable = |name: &str| std::env::var(name).ok();
    let (users, groups) = (read(USERS), read(GROUPS));
    let choice = choose(user, give_up::is_root(), &variable, &users, &groups)?;
    give_up::go_on_as(choice, needs).map_err(PrivilegeError::Refused)
}

/// Elsewhere nothing is given up, and nobody else can be asked for.
///
/// # Errors
/// [`PrivilegeError::Refused`] when a user is named.
#[cfg(not(target_os = "linux"))]
pub fn lower(user: Option<&str>, _: Needs) -> Result<Option<Lowered>, PrivilegeError> {
    let refused = || PrivilegeError::Refused(io::Error::from(io::ErrorKind::Unsupported));
    user.map_or(Ok(None), |_| Err(refused()))
}

/// A file can be made or written under this name, as far as its folder's rights tell; a folder that is missing is
/// looked for further up when it would be made.
///
/// # Errors
/// What the system says.
pub fn writable(path: &Path, folder: bool) -> io::Result<()> {
    use rustix::fs::{Access, access};
    let whole = std::path::absolute(path)?;
    if whole.exists() {
        return access(&whole, Access::WRITE_OK).map_err(io::Error::from);
    }
    let above = whole.ancestors().skip(1);
    let there = if folder { above.into_iter().find(|path| path.exists()) } else { whole.parent() };
    let there = there.ok_or(io::ErrorKind::NotFound)?;
    access(there, Access::WRITE_OK | Access::EXEC_OK).map_err(io::Error::from)
}
