"""What a ring costs in Python, for python.rs: one line in (a way and a number of frames), one line out (nanoseconds of
CPU time an event). Standard library only.

`struct` is the field's way: invalidate the slot, pack the payload, pack the commit word, with two clock reads an event
and one header store a frame, behind a method as an engine would call it. `local` does the same written out in one loop
over local names: the least that Python can do, and no interface. `ctypes` is this package's example over its library.
"""

import mmap
import os
import struct
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "examples"))
import writer  # noqa: E402

HEADER, RECORD, CAPACITY, FRAME = 4096, 48, 131072, 27


class StructWriter:
    def __init__(self, path):
        with open(path, "w+b") as file:
            file.truncate(HEADER + RECORD * CAPACITY)
            self.map = mmap.mmap(file.fileno(), 0)
        self.payload = struct.Struct("<QQIHHBBHHHQ").pack_into
        self.commit = struct.Struct("<Q").pack_into
        self.ordinal = 0

    def put(self, frame, stage, device, seq, start, end, aux):
        at = HEADER + RECORD * (self.ordinal & (CAPACITY - 1))
        self.commit(self.map, at + 40, 0)
        self.payload(self.map, at, start, end, frame, stage, device, 2, 1, 0, seq, 0xFFFF, aux)
        self.ordinal += 1
        self.commit(self.map, at + 40, self.ordinal)

    def publish(self):
        self.commit(self.map, 0x148, self.ordinal)


def struct_frames(ring, frames):
    now, put = time.monotonic_ns, ring.put
    for frame in range(frames):
        for seq in range(FRAME):
            start = now()
            put(frame, seq, 0, seq, start, now(), 1)
        ring.publish()


def local_frames(ring, frames):
    now, commit, payload, image, ordinal = time.monotonic_ns, ring.commit, ring.payload, ring.map, ring.ordinal
    for frame in range(frames):
        for seq in range(FRAME):
            start = now()
            end = now()
            at = HEADER + RECORD * (ordinal & (CAPACITY - 1))
            commit(image, at + 40, 0)
            payload(image, at, start, end, frame, seq, 0, 2, 1, 0, seq, 0xFFFF, 1)
            ordinal += 1
            commit(image, at + 40, ordinal)
        commit(image, 0x148, ordinal)
    ring.ordinal = ordinal


def ctypes_frames(ring, frames):
    now, span = time.monotonic_ns, ring.span
    for frame in range(frames):
        ring.begin(frame)
        for seq in range(FRAME - 1):
            start = now()
            span(seq, start, now(), 0, 2, count=1)
        ring.complete(1, 2)


def main():
    library, folder = sys.argv[1], sys.argv[2]
    packed = StructWriter(os.path.join(folder, "struct"))
    ways = {
        "struct": (packed, struct_frames),
        "local": (packed, local_frames),
        "ctypes": (writer.Recorder(library, os.path.join(folder, "ctypes")), ctypes_frames),
    }
    for line in sys.stdin:
        way, frames = line.split()
        ring, work = ways[way]
        started = time.thread_time_ns()
        work(ring, int(frames))
        print((time.thread_time_ns() - started) / (int(frames) * FRAME), flush=True)


if __name__ == "__main__":
    main()
