//! The options that show a live run to others: where to listen, and who may look.

use super::args::ServeArgs;
use super::failure::Failure;
use super::say;
use crate::infile;
use crate::live::glances::{Glances, pair};
use crate::live::source::SourceInfo;
use crate::web::{Limits, Listening, Options, Token, Web};
use std::net::{Ipv4Addr, SocketAddr};
use std::path::Path;
use wireproof_reports::Terms;

/// An address and port, or a port of this host alone.
pub(super) fn address(text: &str) -> Result<SocketAddr, String> {
    let local = |port: u16| SocketAddr::from((Ipv4Addr::LOCALHOST, port));
    let port = text.strip_prefix(':').unwrap_or(text);
    let refused = |_| format!("{text} is no address to listen on: write 9090, 127.0.0.1:9090 or [::1]:9090");
    port.parse().map(local).or_else(|_| text.parse().map_err(refused))
}

/// Refuses what must not be served, before anything else happens.
pub(super) fn check(asked: &ServeArgs) -> Result<(), Failure> {
    if asked.web_token.is_some() && asked.web.is_none() && asked.prom.is_none() {
        return Err(Failure::usage("--web-token", "it goes with --web or --prom"));
    }
    let open = asked.web.filter(|web| !web.ip().is_loopback() && asked.web_token.is_none());
    open.map_or(Ok(()), |web| {
        let todo = "give --web-token FILE, or an address of this host alone such as 127.0.0.1";
        Err(Failure::usage(&format!("--web {web} can be reached from other hosts"), todo))
    })
}

/// Listens where it is asked for, and reads the token; nothing when nothing was asked for.
pub(super) fn open(asked: &ServeArgs, anonymize: bool, terms: &Terms) -> Result<Option<Listening>, Failure> {
    if asked.web.is_none() && asked.prom.is_none() && asked.prom_textfile.is_none() {
        return Ok(None);
    }
    let read = |path: &Path| {
        Token::read(path).map_err(|why| match infile::open(path) {
            Err(_) => Failure::io("--web-token", &why),
            Ok(_) => Failure::usage("--web-token", &why),
        })
    };
    let options = Options {
        web: asked.web,
        prom: asked.prom,
        textfile: asked.prom_textfile.clone(),
        token: asked.web_token.as_deref().map(read).transpose()?,
        anonymize,
        terms: terms.clone(),
        limits: Limits::default(),
    };
    Listening::open(options).map(Some).map_err(|error| Failure::io_line(&error))
}

/// Starts what is to be served, and says where.
pub(super) fn start(
    opened: Option<Listening>,
    quiet: bool,
    sources: &[SourceInfo],
) -> Result<(Option<Web>, Option<Glances>), Failure> {
    let Some(opened) = opened else { return Ok((None, None)) };
    let (glances, watcher) = pair();
    let web = opened.serve(watcher, sources).map_err(|error| Failure::io_line(&error))?;
    if !quiet {
        if let Some(address) = web.web {
            say(&format!("the run can be watched at http://{address}/"));
        }
        if let Some(address) = web.prom {
            say(&format!("metrics at http://{address}/metrics"));
        }
    }
    Ok((Some(web), Some(glances)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_port_alone_is_that_of_this_host_alone() {
        let parsed = |text: &str| address(text).map(|a| a.to_string());
        for (text, is) in [
            ("9090", "127.0.0.1:9090"),
            (":9090", "127.0.0.1:9090"),
            ("0.0.0.0:80", "0.0.0.0:80"),
            ("[::1]:9090", "[::1]:9090"),
        ] {
            assert_eq!(parsed(text).as_deref(), Ok(is));
        }
        for text in ["", "localhost", "70000", "1.2.3.4", "a:9090"] {
            assert!(parsed(text).unwrap_err().contains("write 9090"), "{text}");
        }
    }
}
