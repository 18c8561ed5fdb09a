#!/usr/bin/env python3
"""A sender of sACN, DDP, Art-Net and BigPacket that shares no code with the product under test.

Frames leave at absolute deadlines. Datagrams can be left out (their numbers are spent), get lost on the way, or
leave with a wrong UDP checksum; which ones is drawn from a seed and told as JSON on standard output when the sender is done.
"""

import argparse
import array
import fcntl
import json
import os
import random
import signal
import socket
import struct
import sys
import time
import uuid

SACN, DDP, ARTNET, BIGPACKET = 5568, 4048, 6454, 21600
# Where datagrams go that the network loses: they take an IP id and are seen by nobody.
DISCARD = 9
DISPLAY = 8640
CHUNK = 1440
CID = uuid.UUID("5b0f6c1e-29d4-4a7b-9c3e-0d8f71a2b446").bytes
# Frames at both ends that are always whole: a hole at an edge shows nowhere, and where a frame begins has to be learned.
EDGE = 15


def sacn(universe, number, data):
    flags = lambda octets: struct.pack(">H", 0x7000 | octets)
    name = b"bench sender".ljust(64, b"\0")
    dmp = flags(11 + len(data)) + bytes([0x02, 0xA1]) + struct.pack(">HHH", 0, 1, len(data) + 1) + b"\0" + data
    frame = struct.pack(">I", 2) + name + bytes([100, 0, 0, number & 0xFF, 0]) + struct.pack(">H", universe) + dmp
    root = struct.pack(">I", 4) + CID + flags(len(frame) + 2) + frame
    return struct.pack(">HH", 16, 0) + b"ASC-E1.17\0\0\0" + flags(len(root) + 2) + root


def ddp(index, count, number, data):
    last = index + 1 == count
    return struct.pack(">BBBBIH", 0x40 | last, number % 15 + 1, 0x0B, 1, index * CHUNK, len(data)) + data


def artnet(port_address, number, data):
    head = b"Art-Net\0" + struct.pack("<H", 0x5000) + struct.pack(">H", 14)
    return head + bytes([number % 255 + 1, 0, port_address & 0xFF, port_address >> 8]) + struct.pack(">H", len(data)) + data


def bigpacket(index, count, frame, data):
    """Chunks of equal size."""
    flags = (index + 1 == count) | (index == 0) << 1
    head = struct.pack(">4sBBHHHHHIIII", b"BPK1", 1, 32, flags, 7, index, count, len(data), frame, index * len(data), DISPLAY, 0)
    return head + data


def content(stream, frame, octets):
    """Data that differs from frame to frame."""
    seed = bytes([(stream * 7 + frame) & 0xFF, frame & 0xFF, frame >> 8 & 0xFF, stream & 0xFF])
    return (seed * (octets // 4 + 1))[:octets]


class Stream:
    """Consecutive numbers of one stream and what became of them."""

    def __init__(self, key, port, per_frame, make):
        self.key, self.port, self.per_frame, self.make = key, port, per_frame, make
        self.number = self.sent = self.octets = self.refused = 0
        self.skipped, self.strayed, self.corrupt = [], [], []

    def draw(self, dice, first, end, skips, strays, corrupt):
        inner = range(first * self.per_frame, end * self.per_frame)
        chosen = dice.sample(inner, min(skips + strays + corrupt, len(inner)))
        self.skip_at = set(chosen[:skips])
        self.stray_at = set(chosen[skips : skips + strays])
        self.corrupt_at = set(chosen[skips + strays :])


def streams(args):
    out = []
    for u in range(1, args.sacn + 1):
        out.append(Stream(f"sacn/{u}", SACN, 1, lambda n, f, i, u=u: sacn(u, n, content(u, f, 512))))
    for d in range(args.ddp):
        out.append(Stream("ddp/1", DDP, 6, lambda n, f, i: ddp(i, 6, n, content(99, f, CHUNK))))
    for p in range(1, args.artnet + 1):
        out.append(Stream(f"artnet/{p}", ARTNET, 1, lambda n, f, i, p=p: artnet(p, n, content(p, f, 512))))
    chunks = DISPLAY // args.chunk
    for b in range(args.bigpacket):
        make = lambda n, f, i: bigpacket(i, chunks, f, content(50, f, args.chunk))
        out.append(Stream("bigpacket/7", BIGPACKET, chunks, make))
    return out


def checksum(octets):
    octets += b"\0" * (len(octets) % 2)
    total = sum(struct.unpack(f">{len(octets) // 2}H", octets))
    while total >> 16:
        total = (total & 0xFFFF) + (total >> 16)
    return ~total & 0xFFFF


def with_wrong_checksum(source, destination, payload):
    """A whole IPv4 datagram with a UDP checksum that is wrong and not absent."""
    ends = socket.inet_aton(source[0]) + socket.inet_aton(destination[0])
    length = len(payload) + 8
    udp = struct.pack(">HHHH", source[1], destination[1], length, 0)
    right = checksum(ends + struct.pack(">BBH", 0, 17, length) + udp + payload)
    wrong = right ^ 0x5A5A or 0x5A5A
    ip = struct.pack(">BBHHHBBH", 0x45, 0, length + 20, 0, 0, 64, 17, 0) + ends
    ip = ip[:10] + struct.pack(">H", checksum(ip)) + ip[12:]
    return ip + udp[:6] + struct.pack(">H", wrong) + payload


def checksums_in_software(interface):
    """Switches transmit checksum offload off (ETHTOOL_STXCSUM), so that checksums are on the wire as on a real link."""
    value = array.array("I", [0x17, 0])
    request = struct.pack("16sP", interface.encode(), value.buffer_info()[0])
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as s:
        fcntl.ioctl(s, 0x8946, request)


def run(args):
    family = socket.AF_INET6 if ":" in args.to else socket.AF_INET
    out = socket.socket(family, socket.SOCK_DGRAM)
    out.setsockopt(socket.SOL_SOCKET, socket.SO_BROADCAST, 1)
    out.bind((args.source, 0))
    source = out.getsockname()
    raw = socket.socket(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_RAW) if args.bad_checksums else None
    frames = max(round(args.seconds * args.rate), 1)
    dice = random.Random(args.seed)
    all_streams = streams(args)
    for s in all_streams:
        is_bad = s.key in args.bad_in.split(",")
        end = args.skip_until or frames - EDGE
        s.draw(dice, EDGE, end, args.skip, args.stray, args.bad_checksums if is_bad else 0)
    burst = [s for s in all_streams if s.key.startswith("sacn/")]
    begin = time.monotonic() + 0.02
    late = 0.0
    for frame in range(frames):
        due = begin + frame / args.rate
        wait = due - time.monotonic()
        if wait > 0:
            time.sleep(wait)
        late = max(late, time.monotonic() - due)
        if frame in (args.stop_at, args.go_on_at):
            os.kill(args.stop, signal.SIGSTOP if frame == args.stop_at else signal.SIGCONT)
        for s in all_streams:
            for index in range(s.per_frame):
                n = s.number
                s.number += 1
                if n in s.skip_at:
                    s.skipped.append(n)
                    continue
                payload = s.make(n, frame, index)
                to = (args.to, s.port)
                if n in s.stray_at:
                    s.strayed.append(n)
                    out.sendto(payload, (args.to, DISCARD))
                    continue
                if n in s.corrupt_at:
                    s.corrupt.append(n)
                    raw.sendto(with_wrong_checksum(source, to, payload), (args.to, 0))
                    continue
                try:
                    out.sendto(payload, to)
                except OSError:
                    # The cable is out.
                    s.refused += 1
                    continue
                s.sent += 1
                s.octets += len(payload)
        if frame == args.burst_at:
            for n in range(args.burst):
                s = burst[n % len(burst)]
                out.sendto(s.make(s.number, frame, 0), (args.to, s.port))
                s.number, s.sent = s.number + 1, s.sent + 1
        late = max(late, time.monotonic() - due)
        if args.foreign:
            args.foreign_socket.send(args.foreign_frame)
    told = ("sent", "octets", "skipped", "strayed", "corrupt", "refused", "per_frame")
    truth = {s.key: {name: getattr(s, name) for name in told} for s in all_streams}
    print(json.dumps({"frames": frames, "late_ms": round(late * 1e3, 1), "streams": truth}))


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--to", default="10.9.0.1")
    p.add_argument("--source", default="10.9.0.2")
    p.add_argument("--seconds", type=float, default=1.2)
    p.add_argument("--rate", type=float, default=60.0)
    p.add_argument("--seed", type=int, default=1)
    p.add_argument("--sacn", type=int, default=12)
    p.add_argument("--ddp", type=int, default=1)
    p.add_argument("--artnet", type=int, default=4)
    p.add_argument("--bigpacket", type=int, default=0)
    p.add_argument("--chunk", type=int, default=CHUNK, help="octets of a BigPacket chunk, a part of the display's")
    p.add_argument("--skip", type=int, default=0, help="datagrams left out in each stream")
    p.add_argument("--stray", type=int, default=0, help="datagrams of each stream that get lost on the way")
    p.add_argument("--skip-until", type=int, default=0, help="frame from which on nothing is left out or damaged")
    p.add_argument("--bad-checksums", type=int, default=0, help="datagrams with a wrong UDP checksum")
    p.add_argument("--bad-in", default="sacn/3", help="streams that have them")
    p.add_argument("--burst", type=int, default=0, help="further sACN datagrams sent at once, over all universes in turn")
    p.add_argument("--burst-at", type=int, default=-1, help="after this frame")
    p.add_argument("--stop", type=int, default=0, help="process that is stopped meanwhile")
    p.add_argument("--stop-at", type=int, default=-1, help="before this frame")
    p.add_argument("--go-on-at", type=int, default=-1, help="before this frame")
    p.add_argument("--foreign", default="", help="interface on which a frame of an unknown protocol follows each frame")
    p.add_argument("--software-checksums", default="", help="interface without transmit checksum offload")
    args = p.parse_args()
    if args.software_checksums:
        checksums_in_software(args.software_checksums)
    if args.foreign:
        args.foreign_socket = socket.socket(socket.AF_PACKET, socket.SOCK_RAW)
        args.foreign_socket.bind((args.foreign, 0))
        # LLDP to the nearest bridge, as managed switches send it.
        args.foreign_frame = bytes.fromhex("0180c200000e" "020000000002" "88cc") + bytes(46)
    run(args)


if __name__ == "__main__":
    sys.exit(main())
