//! A download as plain as it gets: one GET, read to its end and counted. It keeps nothing, so that the bench's own
//! processor does nothing else meanwhile.

use super::Outcome;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::Duration;

/// Longest wait for octets.
const PATIENCE: Duration = Duration::from_secs(20);

/// Downloads a path from `HOST:PORT`; octets that came, head included.
pub(crate) fn get(authority: &str, path: &str, buffer: &mut [u8]) -> Outcome<u64> {
    let mut stream = TcpStream::connect(authority)?;
    stream.set_read_timeout(Some(PATIENCE))?;
    write!(stream, "GET {path} HTTP/1.1\r\nHost: {authority}\r\nConnection: close\r\n\r\n")?;
    let mut head = Vec::new();
    let mut all = 0;
    let mut tail = [0; 5];
    loop {
        let n = stream.read(buffer)?;
        if n == 0 {
            break;
        }
        let piece = buffer.get(..n).unwrap_or_default();
        head.extend_from_slice(piece.get(..n.min(2048 - head.len().min(2048))).unwrap_or_default());
        all += n as u64;
        keep_tail(&mut tail, piece);
    }
    whole(&String::from_utf8_lossy(&head), all, &tail)?;
    Ok(all)
}

fn keep_tail(tail: &mut [u8; 5], piece: &[u8]) {
    for octet in piece.iter().skip(piece.len().saturating_sub(5)) {
        tail.rotate_left(1);
        tail[4] = *octet;
    }
}

/// The answer is a success and came whole, by its length or its last chunk.
fn whole(head: &str, all: u64, tail: &[u8; 5]) -> Outcome<()> {
    let first = head.lines().next().unwrap_or("nothing");
    if !first.contains(" 200 ") {
        return Err(format!("the web service answered {first}").into());
    }
    let body_at = head.find("\r\n\r\n").ok_or("the head of an answer is too long")? as u64 + 4;
    let lower = head.to_ascii_lowercase();
    let field = |name: &str| lower.lines().find_map(|line| line.strip_prefix(name)).map(str::trim);
    let is_whole = match field("content-length:") {
        Some(length) => length.parse() == Ok(all - body_at),
        None => field("transfer-encoding:") == Some("chunked") && tail == b"0\r\n\r\n",
    };
    if is_whole { Ok(()) } else { Err("a download did not come whole".into()) }
}
