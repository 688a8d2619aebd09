"""The limits (bars) that dld must keep. A ratio is dld's figure divided by that of the contender that the row names."""
import dataclasses


@dataclasses.dataclass(frozen=True)
class Bar:
    limit: float
    unit: str = ""
    least: bool = False

    def met(self, value):
        return value >= self.limit if self.least else value <= self.limit

    def __str__(self):
        return f"{'≥' if self.least else '≤'} {self.limit:,g}{' ' + self.unit if self.unit else ''}"


def at_most(limit, unit=""):
    return Bar(limit, unit)


def at_least(limit, unit=""):
    return Bar(limit, unit, least=True)


LARGE_HTTP_CURL = at_most(0.65)
LARGE_HTTP_ARIA2 = at_most(0.6)
LARGE_HTTP_WALL = at_most(1.0)
LARGE_HTTPS_CURL = at_most(1.0)
ANSWER_UNDER_LOAD = at_most(5, "ms")
SMALL_WALL = {"relaxed": at_most(1.5), "full": at_most(2.2)}
SMALL_H2_WALL = at_most(1.5)
SMALL_INSTRUCTIONS = at_most(700_000)
SLOW_ARIA2 = at_most(0.5)
SLOW_MEMORY = at_most(65, "MB")
SLOW_NGINX_ARIA2 = at_most(0.5)
SLOW_NGINX_MEMORY = at_most(80, "MB")
VOLATILE_PROCESSOR = at_most(3, "s")
CACHED_INSTRUCTIONS = at_most(0.15)
CACHED_FULL = at_most(1.25)
STREAM_RATE = at_least(300, "MB/s")
STREAM_MEMORY = at_most(16, "MB")
LIBRARY_WALL = at_most(2)
LIBRARY_PROCESSOR = at_most(0.6)
LIBRARY_MEMORY = at_most(1)
LIMITED_IDEAL = at_most(1.1)
UPLOAD_CURL = at_most(0.8)
UPLOAD_WALL = at_most(1.0)
UPLOAD_MEMORY = at_most(16, "MB")
QUEUE_MEMORY = at_most(10, "MB")
QUEUE_ADD_IN_FLIGHT = at_least(50_000, "tasks/s")
QUEUE_ADD_ONE_CALL = at_least(30_000, "tasks/s")
QUEUE_LIST = at_most(2, "ms")
QUEUE_CLAIM = at_most(2, "ms")
QUEUE_READY = at_most(1, "s")
IDLE_MEMORY = at_most(40, "MB")
IDLE_WAKE_UPS = at_most(2, "/s")
CALLS_ONE_CLIENT = at_least(20_000, "calls/s")
FAN_OUT = at_most(15, "% of a core")
