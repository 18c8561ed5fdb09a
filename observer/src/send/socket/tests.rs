//! Sockets on the loopback interface: what leaves, in which way, and what is counted.

use super::*;
use std::net::UdpSocket;

fn receiver() -> UdpSocket {
    let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
    socket.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
    socket
}

fn to(receiver: &UdpSocket) -> Way {
    Way { to: Some(receiver.local_addr().unwrap()), ..Way::default() }
}

fn received(socket: &UdpSocket, count: usize) -> Vec<Vec<u8>> {
    let mut buffer = vec![0; 70_000];
    (0..count).map(|_| socket.recv(&mut buffer).map(|n| buffer[..n].to_vec()).unwrap()).collect()
}

/// Datagrams of a head of 4 octets and a body: `count` of `body` octets and one of a single octet.
fn datagrams(count: usize, body: usize) -> Vec<Vec<u8>> {
    let one = |i: usize, n: usize| [&(i as u32).to_be_bytes()[..], &vec![i as u8; n]].concat();
    (0..count).map(|i| one(i, body)).chain([one(count, 1)]).collect()
}

fn send(outlet: &mut Outlet, datagrams: &[Vec<u8>]) {
    let parts: Vec<[IoSlice<'_>; 2]> =
        datagrams.iter().map(|d| [IoSlice::new(&d[..4]), IoSlice::new(&d[4..])]).collect();
    outlet.send(parts.iter().map(|p| (None, &p[..])));
}

#[test]
fn what_is_cut_by_the_kernel_equals_what_is_sent_one_by_one() {
    // 150 are more than one message holds, by count and by octets.
    for body in [20, 1_000] {
        let datagrams = datagrams(150, body);
        for no_segmentation in [false, true] {
            let receiver = receiver();
            let mut outlet = Outlet::open(&Way { no_segmentation, ..to(&receiver) }).unwrap();
            for part in datagrams.chunks(40) {
                send(&mut outlet, part);
                assert_eq!(received(&receiver, part.len()), part);
            }
            let total = datagrams.iter().map(|d| d.len() as u64).sum();
            let sent = outlet.sent();
            assert_eq!((sent.datagrams, sent.octets, sent.failed), (151, total, 0));
            match outlet.segmentation() {
                Segmentation::Used => assert_eq!(sent.segmented, 151),
                other => {
                    assert!(no_segmentation || matches!(other, Segmentation::Refused(_)), "{other:?}")
                }
            }
        }
    }
}

#[test]
fn more_than_one_message_takes_is_sent_in_several() {
    let receiver = receiver();
    let mut outlet = Outlet::open(&to(&receiver)).unwrap();
    let datagrams = datagrams(100, 20);
    send(&mut outlet, &datagrams);
    assert_eq!(received(&receiver, 101), datagrams);
    let mut outlet = Outlet::open(&Way { no_segmentation: true, ..to(&receiver) }).unwrap();
    send(&mut outlet, &datagrams);
    assert_eq!(received(&receiver, 101), datagrams);
    assert_eq!(outlet.sent().segmented, 0);
}

#[test]
fn a_kernel_that_cannot_cut_to_this_size_gets_datagrams_one_by_one() {
    let receiver = receiver();
    let mut outlet = Outlet::open(&to(&receiver)).unwrap();
    // Together within one message, but segments that the loopback interface (MTU 65,536 at most) has to fragment.
    let datagrams = [vec![1; 65_500], vec![2; 7]];
    send(&mut outlet, &datagrams);
    assert_eq!(received(&receiver, 2), datagrams);
    assert_eq!((outlet.sent().datagrams, outlet.sent().failed), (2, 0));
}

#[test]
fn a_datagram_that_cannot_be_sent_is_given_up_and_those_behind_it_are_sent() {
    let receiver = receiver();
    let mut outlet = Outlet::open(&to(&receiver)).unwrap();
    let datagrams = [vec![1; 10], vec![2; 65_508], vec![3; 10]];
    send(&mut outlet, &datagrams);
    assert_eq!(received(&receiver, 2), [&datagrams[0][..], &datagrams[2][..]]);
    let sent = outlet.sent();
    assert_eq!((sent.datagrams, sent.octets, sent.failed), (2, 20, 1));
    assert!(sent.error.as_ref().is_some_and(|e| e.contains("too long")), "{sent:?}");
}

#[test]
fn a_port_where_nobody_listens_costs_no_datagram() {
    let gone = receiver().local_addr().unwrap();
    let mut outlet = Outlet::open(&Way { to: Some(gone), ..Way::default() }).unwrap();
    for _ in 0..10 {
        send(&mut outlet, &datagrams(3, 20));
    }
    assert_eq!((outlet.sent().datagrams, outlet.sent().failed), (40, 0));
    assert!(outlet.sent().refused > 0);
}

#[test]
fn a_port_of_its_own_is_taken_where_it_is_free() {
    let receiver = receiver();
    let free = UdpSocket::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let way = Way { port: Some(free), ..to(&receiver) };
    let first = Outlet::open(&way).unwrap();
    let second = Outlet::open(&way).unwrap();
    assert_eq!(first.own_port().unwrap(), free);
    assert!(![0, free].contains(&second.own_port().unwrap()));
}

#[test]
fn datagrams_name_their_destination_where_there_are_several() {
    let (one, other) = (receiver(), receiver());
    let mut outlet = Outlet::open(&Way::default()).unwrap();
    for (receiver, text) in [(&one, b"one"), (&other, b"two"), (&one, b"end")] {
        outlet.send(single(receiver.local_addr().ok(), &[IoSlice::new(text)]));
    }
    assert_eq!(received(&one, 2), [b"one", b"end"]);
    assert_eq!(received(&other, 1), [b"two"]);
    assert_eq!((outlet.segmentation(), outlet.largest_payload().unwrap()), (&Segmentation::Off, None));
}

#[test]
fn only_runs_of_equal_datagrams_to_the_one_place_are_cut() {
    let octets = [0; 70_000];
    let run = |lengths: &[usize]| {
        let parts: Vec<[IoSlice<'_>; 2]> =
            lengths.iter().map(|n| [IoSlice::new(&octets[..1]), IoSlice::new(&octets[1..*n])]).collect();
        let mut flat = [IoSlice::new(&[]); BUFFERS];
        let run = gather(parts.iter().map(|p| (None, &p[..])), &mut flat);
        (run.count, run.used, run.segment)
    };
    assert_eq!(run(&[]), (0, 0, 0));
    assert_eq!(run(&[8]), (1, 2, 8));
    assert_eq!(run(&[8, 8, 3, 3]), (3, 6, 8));
    assert_eq!(run(&[8, 8, 9]), (2, 4, 8));
    assert_eq!(run(&[8; 100]), (MOST_SEGMENTS, 2 * MOST_SEGMENTS, 8));
    assert_eq!(run(&[9_000; 100]), (7, 14, 9_000));
    assert_eq!(run(&[65_508, 3]), (0, 0, 0));
    let (part, other) = ([IoSlice::new(b"abc")], SocketAddr::from(([10, 0, 0, 1], 9)));
    let mut flat = [IoSlice::new(&[]); BUFFERS];
    let messages = [(None, &part[..]), (None, &part[..]), (Some(other), &part[..])];
    assert_eq!(gather(messages.into_iter(), &mut flat).count, 2);
    assert_eq!(gather(messages.into_iter().skip(2), &mut flat).count, 0);
}

#[test]
fn a_mixture_leaves_in_order_whatever_is_cut() {
    let (one, other) = (receiver(), receiver());
    let elsewhere = other.local_addr().unwrap();
    let mut outlet = Outlet::open(&to(&one)).unwrap();
    let datagrams: Vec<Vec<u8>> =
        [5, 5, 3, 9, 4, 4, 4, 7].iter().zip(0..).map(|(n, i)| vec![i; *n]).collect();
    let parts: Vec<[IoSlice<'_>; 1]> = datagrams.iter().map(|d| [IoSlice::new(d)]).collect();
    let messages = parts.iter().zip(0..).map(|(p, i)| ((i == 5).then_some(elsewhere), &p[..]));
    outlet.send(messages);
    let here: Vec<Vec<u8>> =
        datagrams.iter().enumerate().filter(|(i, _)| *i != 5).map(|(_, d)| d.clone()).collect();
    assert_eq!(received(&one, 7), here);
    assert_eq!(received(&other, 1), [vec![5; 4]]);
    assert_eq!((outlet.sent().datagrams, outlet.sent().octets), (8, 41));
}

#[test]
fn the_largest_payload_is_that_of_the_route() {
    let receiver = receiver();
    let largest = Outlet::open(&to(&receiver)).unwrap().largest_payload().unwrap().unwrap();
    assert!((1_252..=65_507).contains(&largest), "{largest}");
}
