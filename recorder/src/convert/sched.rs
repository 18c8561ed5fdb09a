//! `sched_switch` lines of a Linux text trace: ftrace (`trace`, `trace_pipe`, `trace-cmd report`) and `perf script`.
//! Lenient and bounded: a line that cannot be read is counted, never guessed.

use std::io::{self, BufRead};

/// Octets of a line; a longer one is no trace line.
const MAX_LINE: usize = 4096;
/// Octets of a task's name; the kernel's own limit is 15.
const MAX_COMM: usize = 64;

/// One switch: on this CPU the previous task stopped and the next one began.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Switch<'a> {
    /// Time in the trace's own clock, ns.
    pub at_ns: u64,
    /// CPU.
    pub cpu: u16,
    /// Name, id and state of the task that stopped; a state that begins with `R` means that it wanted to go on.
    pub prev: (&'a str, u32, &'a str),
    /// Name and id of the task that began; id 0 is the idle task.
    pub next: (&'a str, u32),
}

/// What was read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Lines {
    /// Switches.
    pub switches: u64,
    /// Lines of other events, comments and empty lines.
    pub other: u64,
    /// Lines that name a switch and cannot be read, and lines that are too long.
    pub bad: u64,
    /// Events that the tracer says it lost.
    pub lost: u64,
    /// Smallest unit of the stamps seen, ns.
    pub resolution_ns: u64,
}

/// Hands every switch to `each`, in the order of the text.
///
/// # Errors
/// What the reader says.
pub fn read(input: &mut dyn BufRead, each: &mut dyn FnMut(&Switch<'_>)) -> io::Result<Lines> {
    let mut lines = Lines::default();
    let mut octets = Vec::new();
    while line(input, &mut octets)? {
        if octets.len() > MAX_LINE {
            lines.bad += 1;
            continue;
        }
        let text = String::from_utf8_lossy(&octets);
        if let Some(lost) = lost(&text) {
            lines.lost = lines.lost.saturating_add(lost);
        } else if text.starts_with('#') || !text.contains("sched_switch:") {
            lines.other += 1;
        } else if let Some((switch, digits)) = switch(&text) {
            lines.switches += 1;
            let unit = 10u64.pow(9 - digits.min(9));
            lines.resolution_ns = if lines.switches == 1 { unit } else { lines.resolution_ns.min(unit) };
            each(&switch);
        } else {
            lines.bad += 1;
        }
    }
    Ok(lines)
}

/// Reads a line, of which at most one octet past the limit is kept; false at the end.
fn line(input: &mut dyn BufRead, octets: &mut Vec<u8>) -> io::Result<bool> {
    octets.clear();
    let mut any = false;
    loop {
        let piece = input.fill_buf()?;
        if piece.is_empty() {
            return Ok(any);
        }
        any = true;
        let end = piece.iter().position(|octet| *octet == b'\n');
        let (take, used) = end.map_or((piece.len(), piece.len()), |end| (end, end + 1));
        let room = (MAX_LINE + 1).saturating_sub(octets.len());
        octets.extend_from_slice(&piece[..take.min(room)]);
        input.consume(used);
        if end.is_some() {
            return Ok(true);
        }
    }
}

/// `CPU:1 [LOST 123 EVENTS]`.
fn lost(text: &str) -> Option<u64> {
    let (_, rest) = text.split_once("[LOST ")?;
    rest.split(' ').next()?.parse().ok()
}

/// The switch of a line, and the number of decimals of its stamp.
fn switch(text: &str) -> Option<(Switch<'_>, u32)> {
    let (head, tail) = text.split_once("sched_switch:")?;
    let head = head.trim_end().strip_suffix("sched:").unwrap_or(head).trim_end();
    let (before, stamp) = head.rsplit_once(char::is_whitespace)?;
    let (at_ns, digits) = seconds(stamp.strip_suffix(':')?)?;
    let cpu = cpu(before)?;
    let (prev, next) = if tail.contains("prev_comm=") { keyed(tail)? } else { short(tail)? };
    Some((Switch { at_ns, cpu, prev, next }, digits))
}

/// Seconds with decimals, as ns.
fn seconds(text: &str) -> Option<(u64, u32)> {
    let (whole, decimals) = text.split_once('.')?;
    let digits = u32::try_from(decimals.len()).ok().filter(|digits| (1..=9).contains(digits))?;
    let plain = |t: &str| t.bytes().all(|b| b.is_ascii_digit());
    if !plain(whole) || !plain(decimals) {
        return None;
    }
    let part = decimals.parse::<u64>().ok()?.checked_mul(10u64.pow(9 - digits))?;
    let ns = whole.parse::<u64>().ok()?.checked_mul(1_000_000_000)?.checked_add(part)?;
    Some((ns, digits))
}

/// The last number in brackets: a task's name in front may hold brackets, too.
fn cpu(before: &str) -> Option<u16> {
    let (_, rest) = before.rsplit_once('[')?;
    rest.split_once(']')?.0.trim().parse().ok()
}

type Sides<'a> = ((&'a str, u32, &'a str), (&'a str, u32));

/// `prev_comm=a prev_pid=1 prev_prio=120 prev_state=R ==> next_comm=b next_pid=2 next_prio=120`
fn keyed(tail: &str) -> Option<Sides<'_>> {
    let (prev, next) = tail.rsplit_once(" ==> next_comm=")?;
    let (_, prev) = prev.split_once("prev_comm=")?;
    let (rest, state) = prev.rsplit_once(" prev_state=")?;
    let (comm, rest) = rest.rsplit_once(" prev_pid=")?;
    let (next_comm, next_rest) = next.rsplit_once(" next_pid=")?;
    let prev = (cut(comm), number(rest)?, state.trim());
    Some((prev, (cut(next_comm), number(next_rest)?)))
}

/// `a:1 [120] R ==> b:2 [120]`
fn short(tail: &str) -> Option<Sides<'_>> {
    let (prev, next) = tail.split_once(" ==> ")?;
    let (prev, state) = prev.trim().rsplit_once(' ')?;
    let task = |text: &'_ str| -> Option<(usize, u32)> {
        let (task, _) = text.trim_end().rsplit_once(" [")?;
        let (comm, id) = task.rsplit_once(':')?;
        Some((comm.len(), id.parse().ok()?))
    };
    let (prev_length, prev_id) = task(prev)?;
    let (next_length, next_id) = task(next)?;
    Some(((cut(&prev[..prev_length]), prev_id, state), (cut(&next[..next_length]), next_id)))
}

fn number(text: &str) -> Option<u32> {
    text.split_whitespace().next()?.parse().ok()
}

/// A name within its limit.
fn cut(comm: &str) -> &str {
    let mut end = comm.len().min(MAX_COMM);
    while !comm.is_char_boundary(end) {
        end -= 1;
    }
    comm[..end].trim_start()
}

#[cfg(test)]
mod tests {
    use super::*;

    type Owned = (u64, u16, (String, u32, String), (String, u32));

    fn all(text: &str) -> (Vec<Owned>, Lines) {
        let mut found = Vec::new();
        let lines = read(&mut text.as_bytes(), &mut |s| {
            let prev = (s.prev.0.to_owned(), s.prev.1, s.prev.2.to_owned());
            found.push((s.at_ns, s.cpu, prev, (s.next.0.to_owned(), s.next.1)));
        })
        .unwrap();
        (found, lines)
    }

    fn one(line: &str) -> Owned {
        let (found, lines) = all(line);
        assert_eq!((lines.switches, lines.bad), (1, 0), "{line}");
        found.into_iter().next().unwrap()
    }

    #[test]
    fn lines_of_ftrace_are_read() {
        let line = "          <idle>-0     [001] d..2.  1234.567890: sched_switch: prev_comm=swapper/1 prev_pid=0 \
                    prev_prio=120 prev_state=R ==> next_comm=kworker/u8:2 next_pid=57 next_prio=120\n";
        let prev = ("swapper/1".into(), 0, "R".into());
        assert_eq!(one(line), (1_234_567_890_000, 1, prev, ("kworker/u8:2".into(), 57)));
    }

    #[test]
    fn lines_of_perf_script_are_read_in_both_styles() {
        let keyed = "swapper     0 [000]  1000.170500123: sched:sched_switch: prev_comm=web server prev_pid=9 \
                     prev_prio=120 prev_state=S ==> next_comm=a =b next_pid=42 next_prio=98";
        let expected = (1_000_170_500_123, 0, ("web server".into(), 9, "S".into()), ("a =b".into(), 42));
        assert_eq!(one(keyed), expected);
        let short = "engine  4242 [003]  1000.170500: sched:sched_switch: engine:4242 [120] R+ ==> ksoftirqd/3:31 [120]";
        let expected =
            (1_000_170_500_000, 3, ("engine".into(), 4242, "R+".into()), ("ksoftirqd/3".into(), 31));
        assert_eq!(one(short), expected);
    }

    #[test]
    fn names_with_spaces_brackets_and_arrows_are_read() {
        let line = "a [7] b-12 [002] d... 5.000001: sched_switch: prev_comm=x ==> y prev_pid=12 prev_prio=1 \
                    prev_state=D ==> next_comm=[z] next_pid=13 next_prio=1";
        assert_eq!(one(line), (5_000_001_000, 2, ("x ==> y".into(), 12, "D".into()), ("[z]".into(), 13)));
    }

    #[test]
    fn damage_is_counted_and_the_rest_is_read() {
        let long = format!("x{}sched_switch:", "y".repeat(100_000));
        let good = "e-1 [000] d... 1.5: sched_switch: prev_comm=a prev_pid=1 prev_prio=1 prev_state=R ==> \
                    next_comm=b next_pid=2 next_prio=1";
        let bad = "e-1 [000] d... 1.5: sched_switch: prev_comm=a prev_pid=";
        let text = format!(
            "# tracer: nop\n\n{bad}\n{long}\nCPU:1 [LOST 123 EVENTS]\ne-1 [0] 1.0: sched_waking: x\n{good}\n\
             e [x] 1.5: sched_switch: {bad}\ne [0] 99999999999999.0: sched_switch: a:1 [1] R ==> b:2 [1]"
        );
        let (found, lines) = all(&text);
        assert_eq!(found.len(), 1);
        assert_eq!(lines, Lines { switches: 1, other: 3, bad: 4, lost: 123, resolution_ns: 100_000_000 });
    }

    #[test]
    fn octets_that_are_no_text_do_no_harm() {
        let mut octets: &[u8] =
            b"\xff\xfe sched_switch: \xff ==> \xff\n\0\0sched_switch:\n[]: sched_switch: : [ ==> : [";
        let lines = read(&mut octets, &mut |_| panic!("no switch")).unwrap();
        assert_eq!(lines.bad, 3);
    }
}
