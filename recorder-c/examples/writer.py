"""An engine's frame loop in Python, through ctypes: writer.py LIBRARY RING FRAMES. Standard library only.

Each frame has a cause, a root span with three device spans below it, and a counter. Clocks are time.monotonic_ns,
which is CLOCK_MONOTONIC.
"""

import ctypes
import sys
import time

ABI_VERSION = 1
OK = 0
ANY_FILE_SYSTEM = 1
NO_DEVICE = NO_PARENT = 0xFFFF
CAUSE_TIMER = 1
FRAME, DEVICE, QUEUE = 1, 5, 9
DEVICES = [(0, 1, "pole-a"), (1, 2, "pole-b"), (2, 3, "pole-c")]
PROTOCOLS = [(1, "bigpacket"), (2, "sacn"), (3, "ddp")]

u8, u16, u32, u64, i32 = ctypes.c_uint8, ctypes.c_uint16, ctypes.c_uint32, ctypes.c_uint64, ctypes.c_int32
SIGNATURES = {
    "wpr_new": [ctypes.POINTER(u64)],
    "wpr_add_stage": [u64, u16, u8, ctypes.c_char_p],
    "wpr_add_device": [u64, u16, u8, u32, ctypes.c_char_p],
    "wpr_add_protocol": [u64, u8, ctypes.c_char_p],
    "wpr_set_period": [u64, u64],
    "wpr_open": [u64, ctypes.c_char_p, u64, u64, u32],
    "wpr_begin": [u64, u32],
    "wpr_span": [u64, u16, u16, u8, u16, u64, u64, u64, ctypes.POINTER(u16)],
    "wpr_cause": [u64, u16, u64, u64],
    "wpr_counter": [u64, u16, u16, u64, u64],
    "wpr_complete": [u64, u64, u64],
    "wpr_anchor": [u64, u64, u64],
    "wpr_close": [u64],
}


class RecorderError(Exception):
    """What wpr_last_error says, and the code."""


class Recorder:
    """A ring under the given path; a context manager."""

    def __init__(self, library, path, capacity=0, period_ns=16_666_667, flags=ANY_FILE_SYSTEM):
        self.library = ctypes.CDLL(library)
        self.library.wpr_last_error.restype = ctypes.c_char_p
        if self.library.wpr_abi_version() != ABI_VERSION:
            raise RecorderError("the library does not fit this file")
        for name, arguments in SIGNATURES.items():
            function = getattr(self.library, name)
            function.argtypes, function.restype, function.errcheck = arguments, i32, self._check
        self._place = u16()
        handle = u64()
        self.library.wpr_new(handle)
        self.handle = handle.value
        try:
            self._describe(period_ns)
            self.library.wpr_open(self.handle, path.encode(), capacity, int(time.time()), flags)
        except RecorderError:
            self.library.wpr_close(self.handle)
            raise

    def _check(self, code, function, _arguments):
        if code != OK:
            raise RecorderError(f"{function.__name__}: {self.library.wpr_last_error().decode()} (code {code})")
        return code

    def _describe(self, period_ns):
        for stage, category, name in [(FRAME, 0, "frame"), (DEVICE, 0, "device"), (QUEUE, 2, "queue")]:
            self.library.wpr_add_stage(self.handle, stage, category, name.encode())
        for protocol, name in PROTOCOLS:
            self.library.wpr_add_protocol(self.handle, protocol, name.encode())
        for device, protocol, name in DEVICES:
            self.library.wpr_add_device(self.handle, device, protocol, 680, name.encode())
        self.library.wpr_set_period(self.handle, period_ns)

    def begin(self, frame):
        self.library.wpr_begin(self.handle, frame)

    def span(self, stage, start_ns, end_ns, device=NO_DEVICE, protocol=0, parent=NO_PARENT, count=0):
        self.library.wpr_span(
            self.handle, stage, device, protocol, parent, start_ns, end_ns, count, self._place
        )
        return self._place.value

    def cause(self, cause_class, source, at_ns):
        self.library.wpr_cause(self.handle, cause_class, source, at_ns)

    def counter(self, stage, at_ns, value, device=NO_DEVICE):
        self.library.wpr_counter(self.handle, stage, device, at_ns, value)

    def complete(self, start_ns, end_ns):
        self.library.wpr_complete(self.handle, start_ns, end_ns)

    def anchor(self, monotonic_ns, wall_ns):
        self.library.wpr_anchor(self.handle, monotonic_ns, wall_ns)

    def close(self):
        self.library.wpr_close(self.handle)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()


def frame(recorder, number):
    start = time.monotonic_ns()
    recorder.begin(number)
    recorder.cause(CAUSE_TIMER, 1, start)
    edges = [time.monotonic_ns() for _ in range(len(DEVICES) + 1)]
    root = recorder.span(FRAME, start, edges[-1])
    for (device, protocol, _), begun, ended in zip(DEVICES, edges, edges[1:]):
        recorder.span(DEVICE, begun, ended, device, protocol, root, count=4)
    recorder.counter(QUEUE, edges[-1], number % 7)
    recorder.complete(start, time.monotonic_ns())


def main():
    if len(sys.argv) != 4:
        sys.exit("usage: writer.py LIBRARY RING FRAMES")
    library, ring, frames = sys.argv[1], sys.argv[2], int(sys.argv[3])
    try:
        with Recorder(library, ring, capacity=4096) as recorder:
            recorder.anchor(time.monotonic_ns(), time.time_ns())
            for number in range(1, frames + 1):
                frame(recorder, number)
    except (OSError, RecorderError) as error:
        sys.exit(f"writer.py: {error}")


if __name__ == "__main__":
    main()
