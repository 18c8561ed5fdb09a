//! The sockets of a replay: one for every sender in the file, so that what came from several does not seem to come
//! from one.

use crate::send::socket::{Outlet, Sent, Way, single};
use std::collections::HashMap;
use std::io::{self, IoSlice};
use std::net::{IpAddr, Ipv4Addr, SocketAddr};

/// Senders that get a socket each; those beyond share the last one.
const MOST_SOCKETS: usize = 200;

/// Takes datagrams on their way.
pub trait Exit {
    /// Sends one: `source` is the sender in the file.
    fn send(&mut self, source: SocketAddr, to: SocketAddr, payload: &[u8]);
}

/// Sockets by sender in the file and address family.
#[derive(Default)]
pub struct Sockets {
    way: Way,
    outlets: HashMap<(SocketAddr, bool), Outlet>,
    shared: HashMap<bool, Outlet>,
    hosts: Vec<IpAddr>,
    sent: Sent,
}

impl Sockets {
    /// Sockets that send as `way` says; destinations come with the datagrams.
    pub fn new(way: Way) -> Self {
        Sockets { way: Way { to: None, ..way }, ..Sockets::default() }
    }

    /// What came of sending.
    pub fn sent(&self) -> Sent {
        let mut sent = self.sent.clone();
        self.outlets.values().chain(self.shared.values()).for_each(|outlet| sent.add(outlet.sent()));
        sent
    }

    /// Sockets opened.
    pub fn count(&self) -> usize {
        self.outlets.len() + self.shared.len()
    }

    fn outlet(&mut self, source: SocketAddr, to: SocketAddr) -> io::Result<&mut Outlet> {
        let key = (source, to.is_ipv4());
        if !self.outlets.contains_key(&key) {
            if self.outlets.len() >= MOST_SOCKETS {
                return self.shared(to);
            }
            let outlet = self.open(source, to)?;
            self.outlets.insert(key, outlet);
        }
        self.outlets.get_mut(&key).ok_or_else(|| io::ErrorKind::NotFound.into())
    }

    fn shared(&mut self, to: SocketAddr) -> io::Result<&mut Outlet> {
        if !self.shared.contains_key(&to.is_ipv4()) {
            let outlet = Outlet::open(&Way { from: self.own(to, None), ..self.way.clone() })?;
            self.shared.insert(to.is_ipv4(), outlet);
        }
        self.shared.get_mut(&to.is_ipv4()).ok_or_else(|| io::ErrorKind::NotFound.into())
    }

    /// A socket for a sender. On the way to this host every host of the file gets an address of 127.0.0.0/8, where
    /// the system has more of them than one.
    fn open(&mut self, source: SocketAddr, to: SocketAddr) -> io::Result<Outlet> {
        let place = self.hosts.iter().position(|host| *host == source.ip()).unwrap_or_else(|| {
            self.hosts.push(source.ip());
            self.hosts.len() - 1
        });
        let apart = Way { from: self.own(to, Some(place)), ..self.way.clone() };
        Outlet::open(&apart).or_else(|_| Outlet::open(&Way { from: self.own(to, None), ..self.way.clone() }))
    }

    /// The address to send from; it decides the family, too.
    fn own(&self, to: SocketAddr, host: Option<usize>) -> Option<IpAddr> {
        let any =
            if to.is_ipv4() { Ipv4Addr::UNSPECIFIED.into() } else { std::net::Ipv6Addr::UNSPECIFIED.into() };
        if let Some(from) = self.way.from.filter(|from| from.is_ipv4() == to.is_ipv4()) {
            return Some(from);
        }
        let near = host.filter(|_| to.is_ipv4() && to.ip().is_loopback());
        let number = near.and_then(|host| u8::try_from(host + 1).ok());
        Some(number.map_or(any, |number| Ipv4Addr::new(127, 0, 0, number).into()))
    }
}

impl Exit for Sockets {
    fn send(&mut self, source: SocketAddr, to: SocketAddr, payload: &[u8]) {
        match self.outlet(source, to) {
            Ok(outlet) => outlet.send(single(Some(to), &[IoSlice::new(payload)])),
            Err(error) => {
                self.sent.failed += 1;
                self.sent.error.get_or_insert_with(|| error.to_string());
            }
        }
    }
}
