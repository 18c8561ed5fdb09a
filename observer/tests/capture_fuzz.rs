//! Mutated captures: never a panic, never more items than octets can hold. `WIREPROOF_FUZZ_FILES` sets how many.

#![allow(clippy::unwrap_used, clippy::panic, clippy::print_stderr, reason = "helpers of tests")]

#[allow(dead_code, reason = "each test file uses a part of the builders")]
mod capture_support;

use capture_support::*;
use rand_chacha::ChaCha8Rng;
use rand_core::{Rng, SeedableRng};
use std::panic::{AssertUnwindSafe, catch_unwind};
use wireproof::capture::{Item, read_stream};

const SEED: u64 = 0x7769_7265_7072_6f6f;
const FILES: u64 = 3_000;

/// Small captures that reach every branch of the reader.
fn seeds() -> Vec<Vec<u8>> {
    let (little, big) = (Order::Little, Order::Big);
    let four = udp4(&pattern(40));
    let tagged = ethernet(0x88a8, &[&[0, 5, 0x81, 0, 0, 6, 8, 0][..], &four].concat());
    let chain = [&[60, 0][..], &[0; 6], &[17, 0], &[0; 6], &udp(&SOURCE6, &DESTINATION6, b"six")].concat();
    let six = ipv6(0, &chain);
    let parts = fragments4(9, &pattern(200), 64);
    let fragmented: Vec<&[u8]> = parts.iter().chain(&parts).map(Vec::as_slice).collect();
    let cooked = [&[0, 1, 0, 1, 0, 6][..], &[2; 8], &[0x86, 0xdd], &six].concat();
    let ng = |order: Order| {
        [
            section(order),
            interface(order, 1, 96, &option(order, 9, &[9])),
            interface(order, 101, 0, &option(order, 14, &order.p64(5))),
            enhanced(order, 0, 3, &tagged, &option(order, 1, b"note")),
            enhanced(order, 1, 4, &six, &option(order, 4, &order.p64(2))),
            block(order, 4, &[0; 8]),
            simple(order, &tagged, 70),
            statistics(order, 30, 4, Some((1, 2))),
        ]
        .concat()
    };
    let files = vec![
        raw(&[&four, &six, &four]),
        raw(&fragmented),
        pcap(big, NANO, 113, &[(1, 2, &cooked, 99), (1, 3, &cooked, 60)]),
        pcap(little, KUZNETZOV, 1, &[(1, 2, &tagged, 99)]),
        pcap(big, MICRO, 0, &[(1, 2, &[&[2, 0, 0, 0][..], &four].concat(), 72)]),
        ng(little),
        [ng(big), ng(little)].concat(),
    ];
    let packed = [gzip(&files[0]), zst(&files[6]), [gzip(&files[5]), gzip(&files[6])].concat()];
    files.into_iter().chain(packed).collect()
}

fn below(random: &mut ChaCha8Rng, bound: usize) -> usize {
    (random.next_u64() % bound.max(1) as u64) as usize
}

/// One change: an octet, a word with a telling value, a stretch cut out, doubled or taken from elsewhere.
fn mutate(random: &mut ChaCha8Rng, file: &mut Vec<u8>) {
    const TELLING: [u32; 10] =
        [0, 1, 7, 8, 0x7fff_ffff, 0xffff_ffff, 0x0004_0000, 0x0008_0000, 0xffff, 0x0a0d_0d0a];
    let at = below(random, file.len());
    let length = below(random, 40).min(file.len() - at);
    match random.next_u32() % 8 {
        0..=2 => file.iter_mut().skip(at).take(1).for_each(|octet| *octet = random.next_u32() as u8),
        3 => file.iter_mut().skip(at).take(1).for_each(|octet| *octet ^= 1 << (random.next_u32() % 8)),
        4 => {
            let value = TELLING[below(random, TELLING.len())];
            let order = if random.next_u32().is_multiple_of(2) { Order::Little } else { Order::Big };
            let octets = order.p32(value);
            file[at..].iter_mut().zip(octets).for_each(|(octet, new)| *octet = new);
        }
        5 => drop(file.drain(at..at + length)),
        6 => {
            let stretch = file[at..at + length].to_vec();
            file.splice(at..at, stretch);
        }
        _ => file.truncate(at),
    }
}

/// Reads a mutated file and holds what it yields against the octets that were there.
fn survives(file: &[u8]) {
    let (mut items, mut octets) = (0u64, 0u64);
    let result = read_stream("fuzz", file, &mut |item| {
        items += 1;
        if let Item::Datagram(arrival, datagram) = &item {
            assert!(datagram.payload.len() as u64 <= u64::from(datagram.length));
            assert!(datagram.length <= 65_535 && arrival.packet > 0);
            octets += datagram.payload.len() as u64;
        }
    });
    let packed = matches!(file, [0x1f, 0x8b, ..] | [0x28, 0xb5, ..]);
    if let Ok(report) = result {
        assert!(report.packets <= items);
        assert!(packed || octets <= file.len() as u64, "{octets} payload octets from {}", file.len());
        assert!(packed || items <= 1 + file.len() as u64 / 8, "{items} items from {}", file.len());
    }
}

#[test]
fn mutated_captures_never_panic_and_yield_no_more_than_they_hold() {
    let asked = std::env::var("WIREPROOF_FUZZ_FILES").ok().and_then(|files| files.parse().ok());
    let files: u64 = asked.unwrap_or(FILES);
    let seeds = seeds();
    for number in 0..files {
        let mut random = ChaCha8Rng::seed_from_u64(SEED ^ number);
        let mut file = seeds[below(&mut random, seeds.len())].clone();
        for _ in 0..1 + below(&mut random, 4) {
            mutate(&mut random, &mut file);
        }
        let outcome = catch_unwind(AssertUnwindSafe(|| survives(&file)));
        assert!(outcome.is_ok(), "file {number} of seed {SEED:#x}: {file:02x?}");
    }
}
