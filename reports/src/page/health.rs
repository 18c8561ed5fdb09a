//! The observer's own state, and what a capture like this one can and cannot show.

use super::cell::{count, length, sentence};
use crate::summary::Summary;
use std::io::{self, Write};

/// Writes the observer's state.
pub(super) fn write(s: &Summary, out: &mut dyn Write) -> io::Result<()> {
    let o = &s.observer;
    let n = |n: u64, path: &str| count(n).span(&format!("/observer{path}"));
    let time = |ns: u64, path: &str| length(ns).span(&format!("/observer{path}"));
    let word = if o.lost > 0 {
        "INVALID: it lost datagrams itself"
    } else {
        "it lost nothing that its counters saw"
    };
    let q = &o.queue_delay_ns;
    let mut facts = vec![
        ("lost by the observer", format!("{} ({word})", n(o.lost, "/lost"))),
        (
            "by layer",
            format!(
                "socket {}, packet ring {}, network card and host {}",
                n(o.layers.socket, "/layers/socket"),
                n(o.layers.ring, "/layers/ring"),
                n(o.layers.nic, "/layers/nic")
            ),
        ),
        ("left out of files", n(o.layers.queue, "/layers/queue")),
    ];
    if s.source.kind == "file" {
        let dropped = count(s.source.capture_dropped).span("/source/capture_dropped");
        facts.push(("lost by the capture", format!("{dropped} packets that the file tells of")));
    } else {
        facts.push(("longest gap of the receive loop", time(o.loop_gap_max_ns, "/loop_gap_max_ns")));
        let delay = format!(
            "p50 {}, p99 {}, max {}",
            time(q.p50, "/queue_delay_ns/p50"),
            time(q.p99, "/queue_delay_ns/p99"),
            time(q.max, "/queue_delay_ns/max")
        );
        facts.push(("kernel stamp to receive call", delay));
    }
    writeln!(
        out,
        "<section id=\"observer\">\n<h2>Observer</h2>\n<div class=\"scroll\"><table class=\"facts\">"
    )?;
    facts.iter().try_for_each(|(name, text)| writeln!(out, "<tr><th scope=\"row\">{name}<td>{text}"))?;
    writeln!(out, "</table></div>\n</section>")
}

/// Writes what can and cannot be seen in such a capture.
pub(super) fn limits(s: &Summary, out: &mut dyn Write) -> io::Result<()> {
    writeln!(
        out,
        "<section id=\"limits\">\n<h2>What this capture can and cannot show</h2>\n<div class=\"can\">"
    )?;
    list("It can show", &can(s), out)?;
    list("It cannot show", &cannot(s), out)?;
    writeln!(out, "</div>")?;
    let told = crate::drains::sentences(s);
    if !told.is_empty() {
        let told: Vec<String> = told.iter().map(|text| super::prose(text)).collect();
        list("What the device's own record says", &told, out)?;
    }
    writeln!(out, "</section>")
}

fn list(heading: &str, items: &[String], out: &mut dyn Write) -> io::Result<()> {
    writeln!(out, "<div><h3>{heading}</h3>\n<ul>")?;
    items.iter().try_for_each(|item| writeln!(out, "<li>{item}"))?;
    writeln!(out, "</ul></div>")
}

fn can(s: &Summary) -> Vec<String> {
    let mut can = vec![match s.source.kind.as_str() {
        "file" => "Everything that was written to the file, as often as it is read.".to_owned(),
        "udp" => "What this host's sockets were given.".to_owned(),
        _ => "Everything the interface saw, other hosts' traffic included where it came by.".to_owned(),
    }];
    can.push(
        match s.source.timestamps.as_str() {
            "file-us" => "Times to a microsecond, by the clock of the capturing host.",
            "file-ns" => "Times to a nanosecond as they are written, by the clock of the capturing host.",
            "kernel" => "Arrivals as the kernel stamped them: a stall of this program moves none of them.",
            "hardware" => "Arrivals as the network card stamped them.",
            _ => "Times at which this program got round to reading: its own delays are in them.",
        }
        .to_owned(),
    );
    if s.source.kind != "file" {
        can.push("The observer's own losses, by the kernel's drop counters.".to_owned());
    } else if s.observer.lost > 0 || !s.observer.timeline.is_empty() {
        can.push("The observer's own losses: drop counters were written to the file.".to_owned());
    }
    if s.source.kind != "udp" {
        can.push("Datagrams captured twice, by their IP id, and a hole in the IP ids of a path.".to_owned());
    }
    if s.reconciled.is_some() {
        can.push(
            "Which of the missing datagrams were never sent: the device's own record was read.".to_owned(),
        );
    }
    can
}

fn cannot(s: &Summary) -> Vec<String> {
    let mut cannot = Vec::new();
    let mut say = |text: &str| cannot.push(text.to_owned());
    if s.source.kind == "udp" {
        say("IP ids, fragments, VLANs and traffic to other hosts: a socket is not told of them.");
    }
    if s.source.kind == "file" && s.observer.timeline.is_empty() && s.source.capture_dropped == 0 {
        say("Whether the capturing host lost packets, where the file holds no drop counters.");
    }
    if s.source.timestamps == "user" {
        say("Arrival times apart from delays of this program.");
    }
    if s.reconciled.is_none() {
        say(
            "What the sender meant to send: no record of the device was read (<code>--ring</code>, <code>--drain</code>).",
        );
    }
    if s.findings.iter().any(|f| f.code == "CAP-OFFLOAD") {
        say("Checksum errors of offloading senders on the capturing host.");
    }
    if let Some(damage) = &s.source.damaged {
        let damage = sentence(damage).span("/source/damaged");
        cannot.push(format!("What lay behind the damage of the file: {damage}."));
    }
    let limits = s.limits.iter().enumerate();
    cannot.extend(limits.map(|(at, limit)| sentence(limit).span(&format!("/limits/{at}"))));
    cannot
}
