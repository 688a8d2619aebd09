"""One file for each family of workloads. `ALL` lists them in the order in which they run."""
from bench.workloads import cached, calls, fan_out, idle, instructions, large, library, limited, queue, rates, slow, small, stalled, stream, upload, upload_memory, volatile

ALL = {"large": large, "small": small, "instructions": instructions, "slow": slow, "limited": limited, "upload": upload, "queue": queue,
       "calls": calls, "fan-out": fan_out, "idle": idle, "rates": rates, "stalled": stalled,
       "upload-memory": upload_memory, "volatile": volatile, "cached": cached, "stream": stream, "library": library}
