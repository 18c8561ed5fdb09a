//! With each loss stands how many other streams lost something at the time.

#![allow(dead_code, clippy::unwrap_used, clippy::panic, reason = "helpers of tests count as tests")]

mod wire;

use wire::account::found;
use wire::capture::{Data, FRAME, MS, Wire};
use wireproof_protocols::verify::Account;

/// Universes 1..=`universes` for 100 frames; `is_lost` says which universe lacks which frame.
fn show(universes: u16, is_lost: impl Fn(u16, u8) -> bool) -> Account {
    let mut w = Wire::sacn();
    for n in 0..100u8 {
        for universe in 1..=universes {
            if !is_lost(universe, n) {
                w.send(&Data { universe, ..Data::numbered(n) }.octets());
            }
        }
        w.wait(FRAME);
    }
    w.finish()
}

fn texts(a: &Account) -> Vec<&str> {
    found(a, "SEQ-LOST").iter().map(|f| f.text.as_str()).collect()
}

#[test]
fn a_loss_of_one_stream_alone_points_to_its_sender() {
    let a = show(15, |universe, n| universe == 4 && n == 40);
    assert_eq!(texts(&a), ["1 datagram lost; none of the 14 other streams to port 5568 lost any then"]);
}

#[test]
fn losses_at_once_are_told_with_each_of_them() {
    let a = show(15, |universe, n| universe > 11 && (40..42).contains(&n));
    let each = "2 datagrams lost; 3 of the 14 other streams to port 5568 lost some within the same 75 ms";
    assert_eq!(texts(&a), [each; 4]);
}

#[test]
fn losses_of_another_time_do_not_count() {
    let a = show(2, |universe, n| n == 30 + u8::try_from(universe).unwrap() * 20);
    assert_eq!(texts(&a), ["1 datagram lost; the other stream to port 5568 lost nothing then"; 2]);
}

#[test]
fn a_stream_alone_is_compared_with_nobody() {
    assert_eq!(texts(&show(1, |_, n| n == 40)), ["1 datagram lost"]);
}

#[test]
fn streams_that_were_not_there_yet_do_not_count() {
    let mut w = Wire::sacn();
    w.numbers(0..30).wait(FRAME).numbers(31..60).wait(200 * MS);
    for n in 0..40 {
        w.send(&Data { universe: 2, ..Data::numbered(n) }.octets()).wait(FRAME);
    }
    assert_eq!(texts(&w.finish()), ["1 datagram lost"]);
}

/// As many losses at once as are kept: sorting them is all the work there is.
#[test]
fn thousands_of_losses_at_once_are_counted_alike() {
    let a = show(2_000, |_, n| n == 40);
    let expected =
        "1 datagram lost; 1999 of the 1999 other streams to port 5568 lost some within the same 50 ms";
    assert_eq!(texts(&a), vec![expected; 2_000]);
}
