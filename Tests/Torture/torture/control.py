"""The other side of native/faults.c: where the process dies, which call fails, and what the calls were."""
import ctypes
import mmap
import os

NOTED, WIDTH = 1 << 14, 96

WRITE, SYNC, NAME, UNLINK, TRUNCATION, ATTRIBUTE, CREATION, READ = (1 << bit for bit in range(8))
LOG, DATABASE, STATE, ELSEWHERE = (1 << bit for bit in range(4))
HOWS = ["never", "before", "within", "after"]
PLANTS = {"lost-log": 1, "early-name": 2, "no-unlink": 4, "no-sync": 8, "no-log-sync": 16, "lost-write": 32,
          "hidden-failure": 64, "leaked-memory": 128, "leaked-descriptors": 256}


class Layout(ctypes.Structure):
    _fields_ = [("calls", ctypes.c_uint64), ("kill_at", ctypes.c_uint64), ("how", ctypes.c_uint32),
                ("plants", ctypes.c_uint32), ("matched", ctypes.c_uint64), ("fail_from", ctypes.c_uint64),
                ("fail_count", ctypes.c_uint64), ("fail_kinds", ctypes.c_uint32), ("fail_places", ctypes.c_uint32),
                ("fail_error", ctypes.c_int32), ("dead", ctypes.c_uint32), ("failed", ctypes.c_uint64),
                ("early", ctypes.c_char * 128), ("notes", (ctypes.c_char * WIDTH) * NOTED)]


class Control:
    def __init__(self, preload, path, state):
        """`preload` is the built faults.c, `path` the file to map, and `state` the daemon's state folder."""
        path.write_bytes(b"")
        os.truncate(path, ctypes.sizeof(Layout))
        with open(path, "r+b") as file:
            self.map = mmap.mmap(file.fileno(), 0)
        self.layout = Layout.from_buffer(self.map)
        self.environment = {"LD_PRELOAD": preload, "TORTURE_CONTROL": str(path), "TORTURE_STATE": str(state)}

    def close(self):
        del self.layout
        self.map.close()

    def plant(self, name, early=""):
        """Switches on a defect that the harness must notice."""
        self.layout.early = early.encode()
        self.layout.plants |= PLANTS[name]

    def kill_at(self, call, how):
        self.layout.kill_at, self.layout.how = call, HOWS.index(how)

    def fail(self, kinds, places, error, first=1, count=1 << 62):
        """From call number `first` on, calls of these kinds at these places fail with `error`."""
        layout = self.layout
        layout.fail_count = 0
        layout.matched, layout.fail_from, layout.fail_error = 0, first, error
        layout.fail_kinds, layout.fail_places = kinds, places
        layout.fail_count = count

    def disarm(self):
        """Switches off deaths, failures and planted defects."""
        self.layout.plants = self.layout.how = self.layout.fail_count = 0

    def lift(self):
        """Ends all failures."""
        self.layout.fail_count = 0

    @property
    def calls(self):
        return self.layout.calls

    @property
    def failed(self):
        return self.layout.failed

    @property
    def matched(self):
        return self.layout.matched

    @property
    def is_dead(self):
        return bool(self.layout.dead)

    def note(self, number):
        """The description of call `number`."""
        return bytes(self.layout.notes[number - 1]).split(b"\0")[0].decode(errors="replace") if number <= NOTED else ""
