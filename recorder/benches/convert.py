#!/usr/bin/env python3
"""The comparison of `convert.rs`: Python's json module writing the Chrome trace of a ring, standard library only.

Reads the records itself, and leaves out what the Rust side has to do beside it: checksums, lanes, sorting.
Prints medians of CPU time in ns as one JSON object: dumps (the event dicts exist already), build and dumps, gzip.
"""
import gzip
import json
import statistics
import struct
import sys
import time

HEADER, RECORD, NO_FRAME = 4096, 48, 0xFFFFFFFF


def records(image):
    """Committed records of the window, as tuples."""
    (capacity,) = struct.unpack_from("<Q", image, 0x18)
    (_, _, visible, _, claimed) = struct.unpack_from("<QQQQQ", image, 0x208)
    unpack = struct.Struct("<QQIHHBBHHHQ").unpack_from
    return [unpack(image, HEADER + o % capacity * RECORD) for o in range(max(0, claimed - capacity), visible)]


def names(image):
    count = struct.unpack_from("<H", image, 0x30)[0]
    table = {}
    for i in range(count):
        key, _, length = struct.unpack_from("<HBB", image, 0x400 + 32 * i)
        table[key] = image[0x404 + 32 * i:0x404 + 32 * i + length].decode()
    return table


def build(rows, stage):
    base = min(row[0] for row in rows)
    events = []
    for start, end, frame, place, device, _proto, kind, _flags, _seq, _parent, aux in rows:
        args = {} if frame == NO_FRAME else {"frame": frame}
        if aux:
            args["count"] = aux
        events.append({"ph": "X" if kind in (1, 2) else "i", "pid": 1, "tid": device, "name": stage.get(place, "?"),
                       "ts": (start - base) / 1000, "dur": (end - start) / 1000, "args": args})
    return events


def main():
    path, rounds = sys.argv[1], int(sys.argv[2])
    with open(path, "rb") as file:
        image = file.read()
    if image[:2] == b"\x1f\x8b":
        image = gzip.decompress(image)
    rows, stage = records(image), names(image)
    took = dict(dumps=[], build_dumps=[], gzip=[])
    text = ""
    for _ in range(rounds):
        started = time.process_time_ns()
        events = build(rows, stage)
        built = time.process_time_ns()
        text = json.dumps({"traceEvents": events})
        dumped = time.process_time_ns()
        gzip.compress(text.encode(), 6)
        packed = time.process_time_ns()
        took["dumps"].append(dumped - built)
        took["build_dumps"].append(dumped - started)
        took["gzip"].append(packed - dumped)
    out = {key: statistics.median(value) for key, value in took.items()}
    print(json.dumps(dict(out, records=len(rows), octets=len(text))))


if __name__ == "__main__":
    main()
