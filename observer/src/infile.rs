//! Input files: opened without waiting for a writer that may never come.
//!
//! It reads nothing, and makes no file.

use std::fs::{File, OpenOptions};
use std::io::{self, Read};
use std::path::Path;

/// Opens a file to read it. A pipe of the shell, `<(…)` or `/dev/stdin`, has its writer and is read to its end; a named
/// pipe and a socket are refused.
///
/// # Errors
/// [`io::ErrorKind::InvalidInput`] for a pipe with a name, or what the file system says.
pub(crate) fn open(path: &Path) -> io::Result<File> {
    if is_inherited(path) {
        return waiting(at_once(path)?);
    }
    let file = regular_or_device(at_once(path)?)?;
    waiting(file)
}

/// Reads a text of at most so many octets, without waiting for a writer that may never come.
///
/// # Errors
/// As [`open`]; [`io::ErrorKind::FileTooLarge`] for more octets, [`io::ErrorKind::InvalidData`] for what is no UTF-8.
pub(crate) fn text(path: &Path, most: u64) -> io::Result<String> {
    let mut text = String::new();
    open(path)?.take(most.saturating_add(1)).read_to_string(&mut text)?;
    if text.len() as u64 > most {
        let what = format!("it is larger than {} KiB", most / 1_024);
        return Err(io::Error::new(io::ErrorKind::FileTooLarge, what));
    }
    Ok(text)
}

/// Opens a regular file to read it, and nothing else: a file of a bundle.
///
/// # Errors
/// [`io::ErrorKind::InvalidInput`] for what is neither a file nor a folder, or what the file system says.
pub(crate) fn open_regular(path: &Path) -> io::Result<File> {
    let file = at_once(path)?;
    let kind = file.metadata()?.file_type();
    if kind.is_file() || kind.is_dir() { Ok(file) } else { Err(refused("not a regular file")) }
}

/// True for what this process was given open: whoever gave it has its writer.
fn is_inherited(path: &Path) -> bool {
    let is_process = || path.starts_with("/proc") && path.iter().any(|part| part == "fd");
    path == Path::new("/dev/stdin") || path.starts_with("/dev/fd") || is_process()
}

fn regular_or_device(file: File) -> io::Result<File> {
    #[cfg(unix)]
    {
        use std::os::unix::fs::FileTypeExt;
        let kind = file.metadata()?.file_type();
        if kind.is_fifo() || kind.is_socket() {
            return Err(refused(
                "a named pipe, which may have no writer: give a file, or - with the pipe as input",
            ));
        }
    }
    Ok(file)
}

fn refused(why: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidInput, why)
}

/// Opens without waiting for the other end of a pipe.
fn at_once(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.read(true);
    #[cfg(unix)]
    {
        use std::os::unix::fs::OpenOptionsExt;
        options.custom_flags(libc::O_NONBLOCK | libc::O_NOCTTY);
    }
    options.open(path)
}

/// Makes reads wait for what comes, as they do by default.
fn waiting(file: File) -> io::Result<File> {
    #[cfg(unix)]
    {
        let flags = rustix::fs::fcntl_getfl(&file)?;
        rustix::fs::fcntl_setfl(&file, flags - rustix::fs::OFlags::NONBLOCK)?;
    }
    Ok(file)
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;
    use std::os::fd::AsRawFd;

    #[test]
    fn a_text_has_a_limit_even_where_it_never_ends() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("text");
        std::fs::write(&path, "x".repeat(2_048)).unwrap();
        assert_eq!(text(&path, 2_048).unwrap().len(), 2_048);
        let error = text(&path, 2_047).unwrap_err();
        assert_eq!(
            (error.kind(), error.to_string().as_str()),
            (io::ErrorKind::FileTooLarge, "it is larger than 1 KiB")
        );
        assert_eq!(text(Path::new("/dev/zero"), 2_048).unwrap_err().kind(), io::ErrorKind::FileTooLarge);
    }

    #[test]
    fn a_named_pipe_is_refused_and_an_inherited_one_is_read_to_its_end() {
        let folder = tempfile::tempdir().unwrap();
        let pipe = folder.path().join("pipe");
        assert!(std::process::Command::new("mkfifo").arg(&pipe).status().unwrap().success());
        for error in [open(&pipe).unwrap_err(), open_regular(&pipe).unwrap_err()] {
            assert_eq!(error.kind(), io::ErrorKind::InvalidInput, "{error}");
        }
        let (take, give) = io::pipe().unwrap();
        let inherited = format!("/dev/fd/{}", take.as_raw_fd());
        let mut file = open(Path::new(&inherited)).unwrap();
        let writer = std::thread::spawn(move || io::Write::write_all(&mut { give }, b"plan").unwrap());
        let mut text = String::new();
        file.read_to_string(&mut text).unwrap();
        writer.join().unwrap();
        assert_eq!(text, "plan");
        let plain = folder.path().join("plain");
        std::fs::write(&plain, "x").unwrap();
        assert!(open(&plain).is_ok() && open_regular(&plain).is_ok());
    }
}
