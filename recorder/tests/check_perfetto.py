#!/usr/bin/env python3
"""Strict check of Perfetto traces with the schema of the PyPI package `perfetto`; prints one JSON object.

Every field has to be known at every depth; within a track a BEGIN and an END pair up like brackets, times never run
backwards inside a track, and every name, category and annotation key resolves through the interned tables.
Exit code 77: the package is not there.
"""
import json
import sys

try:
    from perfetto.protos.perfetto.trace import perfetto_trace_pb2 as pb
    from google.protobuf.unknown_fields import UnknownFieldSet
except ImportError as error:
    print(error, file=sys.stderr)
    sys.exit(77)


def unknown(message):
    """Fields that the schema does not know, in a message and everything in it."""
    total = len(UnknownFieldSet(message))
    for field, value in message.ListFields():
        if field.message_type is not None:
            for one in value if field.is_repeated else [value]:
                total += unknown(one)
    return total


def check(path):
    with open(path, "rb") as file:
        octets = file.read()
    trace = pb.Trace()
    assert trace.ParseFromString(octets) == len(octets)
    names, categories, keys = {}, {}, {}
    tracks, depth, last = {}, {}, {}
    counts = dict(begin=0, end=0, instant=0, counter=0)
    seen, durations, opened = {}, 0, {}
    for packet in trace.packet:
        assert packet.trusted_packet_sequence_id == 1
        if packet.HasField("interned_data"):
            assert packet.sequence_flags & 1
            assert packet.trace_packet_defaults.timestamp_clock_id == 3
            names = {e.iid: e.name for e in packet.interned_data.event_names}
            categories = {e.iid: e.name for e in packet.interned_data.event_categories}
            keys = {e.iid: e.name for e in packet.interned_data.debug_annotation_names}
            assert 0 not in names and 0 not in categories and 0 not in keys
        if packet.HasField("track_descriptor"):
            d = packet.track_descriptor
            assert d.uuid and d.uuid not in tracks, "a track is described twice"
            assert not d.parent_uuid or d.parent_uuid in tracks, "a parent comes behind its child"
            tracks[d.uuid] = d.name or d.process.process_name
        if not packet.HasField("track_event"):
            continue
        e = packet.track_event
        assert packet.sequence_flags & 2 and e.track_uuid in tracks
        assert e.name_iid == 0 or e.name_iid in names
        assert all(c in categories for c in e.category_iids)
        assert all(a.name or a.name_iid in keys for a in e.debug_annotations)
        kind = {1: "begin", 2: "end", 3: "instant", 4: "counter"}[e.type]
        counts[kind] += 1
        assert last.get(e.track_uuid, 0) <= packet.timestamp or kind == "instant", "a track runs backwards"
        if kind in ("begin", "end"):
            last[e.track_uuid] = packet.timestamp
        if kind == "begin":
            opened.setdefault(e.track_uuid, []).append(packet.timestamp)
            track = tracks[e.track_uuid]
            seen[track] = seen.get(track, 0) + 1
        if kind == "end":
            durations += packet.timestamp - opened[e.track_uuid].pop()
    snapshots = [p.clock_snapshot for p in trace.packet if p.HasField("clock_snapshot")]
    return dict(packets=len(trace.packet), unknown=unknown(trace), open=sum(map(len, opened.values())), tracks=len(tracks),
                duration_ns=durations, spans=seen, clocks=[[c.clock_id, c.timestamp] for s in snapshots for c in s.clocks],
                **counts)


if __name__ == "__main__":
    print(json.dumps({path: check(path) for path in sys.argv[1:]}))
