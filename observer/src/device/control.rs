//! The control socket of the device: Unix datagrams in, replies out, never waiting for anybody.

use std::fs;
use std::io;
use std::os::unix::fs::{FileTypeExt, PermissionsExt};
use std::os::unix::net::{SocketAddr, UnixDatagram};
use std::path::{Path, PathBuf};
use thiserror::Error;
use wireproof_fixture::device::control::MOST_OCTETS;

/// Only the device's own user may ask.
const MODE: u32 = 0o600;

/// Why there is no control socket.
#[derive(Debug, Error)]
pub enum ControlError {
    /// Another device listens there.
    #[error("{0:?} is the control socket of a device that is running: end it, or name another path")]
    Taken(PathBuf),
    /// Something else has the name.
    #[error("{0:?} exists and is no socket: name another path")]
    NoSocket(PathBuf),
    /// The system says no.
    #[error(
        "{path:?} cannot be a control socket ({error}): check the folder, its rights and that the path is short"
    )]
    Io {
        /// Path.
        path: PathBuf,
        /// What it says.
        error: io::Error,
    },
}

/// A control socket; its name is gone when it is dropped.
#[derive(Debug)]
pub struct ControlSocket {
    socket: UnixDatagram,
    path: PathBuf,
    asked_by: Option<SocketAddr>,
}

impl ControlSocket {
    /// Opens the socket; a name that a dead device left behind is taken over.
    ///
    /// # Errors
    /// [`ControlError`], which says what to do.
    pub fn open(path: &Path) -> Result<ControlSocket, ControlError> {
        let failed = |error| ControlError::Io { path: path.to_owned(), error };
        if let Ok(about) = fs::symlink_metadata(path) {
            if !about.file_type().is_socket() {
                return Err(ControlError::NoSocket(path.to_owned()));
            }
            if UnixDatagram::unbound().and_then(|probe| probe.connect(path)).is_ok() {
                return Err(ControlError::Taken(path.to_owned()));
            }
            fs::remove_file(path).map_err(failed)?;
        }
        let socket = UnixDatagram::bind(path).map_err(failed)?;
        let control = ControlSocket { socket, path: path.to_owned(), asked_by: None };
        fs::set_permissions(path, fs::Permissions::from_mode(MODE)).map_err(failed)?;
        control.socket.set_nonblocking(true).map_err(failed)?;
        Ok(control)
    }

    /// The next request, if one waits. One octet more than a request may have shows that it is too long.
    pub fn message(&mut self) -> Option<String> {
        let mut octets = [0; MOST_OCTETS + 1];
        let (count, from) = self.socket.recv_from(&mut octets).ok()?;
        self.asked_by = Some(from);
        Some(String::from_utf8_lossy(octets.get(..count).unwrap_or_default()).into_owned())
    }

    /// Answers whoever asked last; one without a name, or with a full queue, goes without an answer.
    pub fn reply(&mut self, text: &str) {
        if let Some(to) = self.asked_by.take().filter(|to| !to.is_unnamed()) {
            let _ = self.socket.send_to_addr(text.as_bytes(), &to);
        }
    }
}

impl Drop for ControlSocket {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.path);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_come_in_and_answers_go_back() {
        let folder = tempfile::tempdir().unwrap();
        let (path, own) = (folder.path().join("control"), folder.path().join("asker"));
        let mut control = ControlSocket::open(&path).unwrap();
        assert_eq!(control.message(), None);
        let asker = UnixDatagram::bind(&own).unwrap();
        asker.send_to(b"status", &path).unwrap();
        assert_eq!(control.message().as_deref(), Some("status"));
        control.reply("ok {}");
        let mut octets = [0; 16];
        assert_eq!(asker.recv(&mut octets).unwrap(), 5);
        UnixDatagram::unbound().unwrap().send_to(b"shutdown", &path).unwrap();
        assert_eq!(control.message().as_deref(), Some("shutdown"));
        control.reply("ok shutdown");
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, MODE);
    }

    #[test]
    fn a_name_in_use_is_refused_and_a_dead_one_taken_over() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("control");
        let control = ControlSocket::open(&path).unwrap();
        assert!(matches!(ControlSocket::open(&path), Err(ControlError::Taken(_))));
        drop(control);
        assert!(!path.exists());
        // A socket whose owner was killed leaves its name.
        drop(UnixDatagram::bind(&path).unwrap());
        drop(ControlSocket::open(&path).unwrap());
        fs::write(&path, "mine").unwrap();
        assert!(matches!(ControlSocket::open(&path), Err(ControlError::NoSocket(_))));
        assert_eq!(fs::read_to_string(&path).unwrap(), "mine");
    }

    #[test]
    fn a_request_that_is_too_long_is_seen_to_be() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("control");
        let mut control = ControlSocket::open(&path).unwrap();
        UnixDatagram::unbound().unwrap().send_to(&[b'x'; 4_000], &path).unwrap();
        assert_eq!(control.message().map(|text| text.len()), Some(MOST_OCTETS + 1));
    }
}
