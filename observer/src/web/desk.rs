//! The page without a network: what it says to the octets of one connection. Tests and fuzzing use it; it listens
//! nowhere.

use super::board::Board;
use super::door::Door;
use super::server::{Asked, Limits, Serves, Site, connection};
use super::token::Token;
use std::io;
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt, duplex};
use tokio::runtime::Runtime;
use tokio::time::timeout;
use wireproof_reports::Terms;

/// Octets on their way between both sides.
const WAY: usize = 64 * 1024;
/// A client that has said everything waits so long for an answer.
const PATIENCE: Duration = Duration::from_millis(5);

/// A page that can be spoken to in memory.
#[derive(Debug)]
pub struct Desk {
    site: Arc<Site>,
    door: Door,
    runtime: Runtime,
}

impl Desk {
    /// A page of a run that has seen nothing, with or without a token.
    ///
    /// # Errors
    /// There is nothing to wait for octets with.
    pub fn new(token: Option<&[u8]>) -> io::Result<Desk> {
        let limits = Limits { token_delay: Duration::ZERO, ..Limits::default() };
        let site = Site {
            board: Mutex::new(Board::new(&[], false, Terms::default())),
            token: token.map(Token::of),
            limits,
        };
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build()?;
        Ok(Desk { site: Arc::new(site), door: Door::new(limits.connections), runtime })
    }

    /// What is said to a client that sends these octets and waits.
    pub fn hear(&self, octets: &[u8]) -> Vec<u8> {
        let Some(place) = self.door.enter() else { return Vec::new() };
        let asked = Asked { serves: Serves::All, is_loopback: true };
        self.runtime.block_on(async {
            let (near, far) = duplex(WAY);
            let (mut take, mut give) = tokio::io::split(far);
            let talk = async {
                let _ = give.write_all(octets).await;
                let mut answer = Vec::new();
                if timeout(PATIENCE, take.read_buf(&mut answer)).await.is_err() {
                    let _ = give.shutdown().await;
                }
                let _ = take.read_to_end(&mut answer).await;
                answer
            };
            tokio::join!(connection(Arc::clone(&self.site), near, place, asked), talk).1
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_desk_answers_what_is_asked_and_refuses_what_is_not() {
        let desk = Desk::new(None).unwrap();
        let said = |text: &str| String::from_utf8_lossy(&desk.hear(text.as_bytes())).into_owned();
        assert!(said("GET /metrics HTTP/1.1\r\n\r\n").contains("wireproof_build_info"));
        assert!(said("GET /none HTTP/1.1\r\n\r\n").starts_with("HTTP/1.1 404"));
        assert!(said("GET / HTTP/1.1\r\nHost: evil.example\r\n\r\n").starts_with("HTTP/1.1 421"));
        assert!(said(&format!("GET / HTTP/1.1\r\nX: {}", "x".repeat(9_000))).starts_with("HTTP/1.1 431"));
        assert_eq!(said("GET / HTTP/1.1\r\n"), "");
    }

    #[test]
    fn a_desk_with_a_token_shows_nothing_without_it() {
        let desk = Desk::new(Some(b"0123456789abcdef")).unwrap();
        let said = |fields: &str| {
            let text = format!("GET /metrics HTTP/1.1\r\n{fields}\r\n");
            String::from_utf8_lossy(&desk.hear(text.as_bytes())).into_owned()
        };
        assert!(said("").starts_with("HTTP/1.1 401"));
        assert!(said("Authorization: Bearer 0123456789abcdee\r\n").starts_with("HTTP/1.1 401"));
        assert!(said("Authorization: Bearer 0123456789abcdef\r\n").starts_with("HTTP/1.1 200"));
    }
}
