//! Who has the protocol ports open, out of `/proc`. No socket is opened for it: binding a port that another program
//! shares would take its datagrams away meanwhile.

use super::facts::{Holder, Port};
use std::collections::{BTreeMap, HashMap};
use std::fs;
use std::path::Path;
use wireproof_protocols::registry::DECODERS;

/// Most files of processes looked at.
const MOST_FILES: usize = 1 << 20;

/// A UDP socket of a table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Socket {
    pub(super) port: u16,
    pub(super) user: u32,
    pub(super) inode: u64,
}

/// Reads `/proc/net/udp` or `/proc/net/udp6`; lines that are no socket are left out.
pub(super) fn parse_udp(text: &str) -> Vec<Socket> {
    let one = |line: &str| {
        let mut columns = line.split_whitespace();
        let (_, port) = columns.nth(1)?.rsplit_once(':')?;
        Some(Socket {
            port: u16::from_str_radix(port, 16).ok()?,
            user: columns.nth(5)?.parse().ok()?,
            inode: columns.nth(1)?.parse().ok()?,
        })
    };
    text.lines().filter_map(one).collect()
}

/// Every protocol port with its holders; `None` when there is no table.
pub(super) fn ports(root: &Path) -> Option<Vec<Port>> {
    let tables = ["proc/net/udp", "proc/net/udp6"].map(|name| fs::read_to_string(root.join(name)).ok());
    if tables.iter().all(Option::is_none) {
        return None;
    }
    let mut ports: BTreeMap<u16, Port> = BTreeMap::new();
    for decoder in DECODERS {
        for number in decoder.ports() {
            let port = ports.entry(*number).or_insert_with(|| Port { number: *number, ..Port::default() });
            port.protocols.push(decoder.protocol().name());
        }
    }
    let mut sockets: Vec<_> = tables.iter().flatten().flat_map(|table| parse_udp(table)).collect();
    sockets.retain(|socket| ports.contains_key(&socket.port));
    let processes = processes(root, &sockets);
    for socket in sockets {
        let process = processes.get(&socket.inode).cloned();
        if let Some(port) = ports.get_mut(&socket.port) {
            port.holders.push(Holder { process, user: socket.user });
        }
    }
    let tidy = |mut port: Port| {
        port.holders.sort();
        port.holders.dedup();
        port
    };
    Some(ports.into_values().map(tidy).collect())
}

/// Name and id of the process behind each socket, where this user may see it.
fn processes(root: &Path, sockets: &[Socket]) -> HashMap<u64, (String, u32)> {
    let mut found = HashMap::new();
    if sockets.is_empty() {
        return found;
    }
    let ids = fs::read_dir(root.join("proc")).into_iter().flatten().flatten();
    let ids = ids.filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
    let files = ids.flat_map(|id| {
        let folder = fs::read_dir(root.join(format!("proc/{id}/fd"))).into_iter().flatten().flatten();
        folder.map(move |file| (id, file.path()))
    });
    for (id, file) in files.take(MOST_FILES) {
        let inode = fs::read_link(file).ok().and_then(|target| inode(target.to_str()?));
        if let Some(inode) = inode.filter(|inode| sockets.iter().any(|socket| socket.inode == *inode)) {
            let name = fs::read_to_string(root.join(format!("proc/{id}/comm"))).unwrap_or_default();
            found.entry(inode).or_insert((name.trim().to_owned(), id));
        }
    }
    found
}

fn inode(link: &str) -> Option<u64> {
    link.strip_prefix("socket:[")?.strip_suffix(']')?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    const UDP: &str = "\
   sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode ref pointer drops
 1216: 00000000:15C0 00000000:0000 07 00000000:00000000 00:00000000 00000000  1000        0 41234 2 0000000000000000 0
 1217: 0100007F:0035 00000000:0000 07 00000000:00000000 00:00000000 00000000   101        0 999 2 0000000000000000 0
";
    const UDP6: &str = "\
  sl  local_address                         remote_address                        st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode ref pointer drops
 1216: 00000000000000000000000000000000:15C0 00000000000000000000000000000000:0000 07 00000000:00000000 00:00000000 00000000     0        0 41235 2 0000000000000000 0
";

    #[test]
    fn sockets_are_read_from_both_tables() {
        assert_eq!(
            parse_udp(UDP),
            [Socket { port: 5_568, user: 1_000, inode: 41_234 }, Socket { port: 53, user: 101, inode: 999 },]
        );
        assert_eq!(parse_udp(UDP6), [Socket { port: 5_568, user: 0, inode: 41_235 }]);
        for text in ["", "a\n", "1: :\n", "1: 0:15C0 0:0 07 0 0 0 x 0 1\n", "1: 0:FFFFF 0:0 07 0 0 0 1 0 1\n"]
        {
            assert_eq!(parse_udp(text), [], "{text:?}");
        }
    }

    #[test]
    #[cfg(unix)]
    fn a_holder_is_named_where_its_files_can_be_seen() {
        let root = tempfile::tempdir().unwrap();
        let write = |name: &str, text: &str| {
            let path = root.path().join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        };
        write("proc/net/udp", UDP);
        write("proc/net/udp6", UDP6);
        write("proc/77/comm", "sacnview\n");
        fs::create_dir_all(root.path().join("proc/77/fd")).unwrap();
        std::os::unix::fs::symlink("socket:[41234]", root.path().join("proc/77/fd/5")).unwrap();
        std::os::unix::fs::symlink("pipe:[41235]", root.path().join("proc/77/fd/6")).unwrap();
        let ports = ports(root.path()).unwrap();
        let sacn = ports.iter().find(|port| port.number == 5_568).unwrap();
        assert_eq!(
            sacn.holders,
            [
                Holder { process: None, user: 0 },
                Holder { process: Some(("sacnview".to_owned(), 77)), user: 1_000 },
            ]
        );
        let free: Vec<_> =
            ports.iter().filter(|port| port.holders.is_empty()).map(|port| port.number).collect();
        assert!(free.contains(&4_048) && free.contains(&6_454) && !free.contains(&53), "{free:?}");
    }

    #[test]
    fn without_tables_nothing_is_known() {
        let root = tempfile::tempdir().unwrap();
        assert_eq!(ports(root.path()), None);
    }
}
