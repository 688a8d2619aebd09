"""Client library of dld, the background transfer daemon.

    import dld

    with dld.Client() as client:
        task = client.download("https://example.org/image.iso", "image.iso")
        print(client.wait(task)["file"])

The daemon does the work: this module only maps calls, errors and events. Methods, parameters and results have the names
of the daemon's protocol, so a new member needs no new library. A client belongs to one thread at a time; another thread
makes its own.
"""

from __future__ import annotations

import base64
import json
import os
import pwd
import select
import socket
import struct
import time
import uuid
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from types import TracebackType
from typing import Any, Union

__all__ = [
    "CallError", "Client", "ConnectionLost", "DaemonError", "Error", "Event", "Events", "NoAnswer", "NoDaemon",
    "TaskError", "WaitTimeout", "socket_paths",
]
__version__ = "0.2.0"

Path = Union[str, "os.PathLike[str]"]

SYSTEM_SOCKETS = ("/run/dld/dld.sock", "/var/lib/dld/dld.sock")
# The size of sun_path without its terminating NUL; unix(7).
_LONGEST_ADDRESS = 107
# The last words of methods that may be repeated if the answer is lost: they read, or have the same result twice.
_REPEATABLE = {"ack", "body", "discover", "get", "info", "list", "stats", "subscribe"}
_FINAL_STATES = ("completed", "failed", "cancelled")
_FINAL_EVENTS = ("task.completed", "task.failed", "task.cancelled", "task.removed")


class Error(Exception):
    """Everything that this module raises."""


class NoDaemon(Error, ConnectionError):
    """No daemon answers, or none that this user may use."""


class ConnectionLost(Error, ConnectionError):
    """The daemon went away before it answered. A change may or may not have been made."""


class NoAnswer(Error, TimeoutError):
    """The daemon accepts connections but does not answer in time. A change may or may not have been made."""


class WaitTimeout(Error, TimeoutError):
    """A task has not ended in time. It continues."""


class DaemonError(Error):
    """An error of the shared vocabulary (docs/errors.md)."""

    def __init__(self, error: Mapping[str, Any], message: str) -> None:
        super().__init__(message)
        #: The cause, such as `task.not_found`.
        self.code: str = str(error.get("code", "internal"))
        #: A sentence that says what to do.
        self.message: str = message
        #: Whether the same request may succeed later.
        self.retryable: bool = bool(error.get("retryable", False))
        #: Depends on the code.
        self.details: dict[str, Any] = dict(error.get("details") or {})

    def __str__(self) -> str:
        return f"{self.message} ({self.code})"


class CallError(DaemonError):
    """The daemon refused a call."""

    def __init__(self, error: Mapping[str, Any]) -> None:
        #: `error.data` as it arrived.
        self.data: dict[str, Any] = dict(error.get("data") or {})
        super().__init__(self.data, str(error.get("message", "")))
        #: The integer of JSON-RPC.
        self.rpc_code: int = int(error.get("code", 0))


class TaskError(DaemonError):
    """A task failed or was cancelled."""

    def __init__(self, task: Mapping[str, Any]) -> None:
        error = task.get("error") or {"code": "cancelled", "message": "The task was cancelled."}
        super().__init__(error, str(error.get("message", "")))
        #: The task, as `task.get` shows it.
        self.task: dict[str, Any] = dict(task)


class Event(dict[str, Any]):
    """An event, with its members as they arrived."""

    @property
    def type(self) -> str:
        """What happened, such as `task.completed`."""
        return str(self["type"])

    @property
    def sequence(self) -> int | None:
        """Its number; None for events that are not stored, such as `task.progress`."""
        return self.get("sequence")

    @property
    def task(self) -> int | None:
        """The id of the task; None if it belongs to none."""
        return self.get("task")


def socket_paths(
    socket_path: Path | None = None, system: bool = False, environment: Mapping[str, str] = os.environ
) -> list[str]:
    """Returns the sockets at which a daemon may listen, best first (docs/protocol.md, Transport).

    A given path, or else `DLD_SOCKET`, is the only one. The state folder comes before the runtime folder: every daemon
    listens there, but a socket in the runtime folder may belong to systemd and start a second daemon.
    """

    def absolute(name: str) -> str | None:
        # Relative paths are invalid in these variables (XDG base directory specification).
        value = environment.get(name, "")
        return value if value.startswith("/") else None

    if socket_path is not None:
        return [os.fspath(socket_path)]
    if environment.get("DLD_SOCKET"):
        return [environment["DLD_SOCKET"]]
    if system:
        return list(SYSTEM_SOCKETS)
    paths = []
    state, data, home = absolute("STATE_DIRECTORY"), absolute("XDG_STATE_HOME"), absolute("HOME")
    if home is None and environment is os.environ:
        try:
            home = pwd.getpwuid(os.getuid()).pw_dir
        except KeyError:
            pass
    if state:
        # systemd separates several folders by colons; the first is dld's.
        paths.append(state.split(":")[0] + "/dld.sock")
    elif data or home:
        paths.append((f"{data}/dld" if data else f"{home}/.local/state/dld") + "/dld.sock")
    runtime = absolute("XDG_RUNTIME_DIR")
    if runtime and _may_use_runtime_folder(runtime):
        paths.append(runtime + "/dld/dld.sock")
    return paths + list(SYSTEM_SOCKETS)


def _may_use_runtime_folder(folder: str) -> bool:
    """The daemon ignores a folder that belongs to another user (as after su), or is too long for a socket's address."""
    try:
        if os.stat(folder).st_uid != os.geteuid():
            return False
    except OSError:
        pass
    return len(os.fsencode(folder + "/dld/dld.sock")) <= _LONGEST_ADDRESS


class Client:
    """A connection to a daemon, which is made again if the daemon restarts.

    :param socket_path: the daemon's socket; default: the one of `socket_paths` that answers.
    :param system: the system's daemon is meant, not the user's own.
    :param timeout: seconds to wait for the answer to a call; None waits for ever.
    :param patience: seconds to wait for a daemon that went away; 0 does not wait.
    :raises NoDaemon: if none answers. `dlctl start` starts the user's own.
    """

    def __init__(
        self, socket_path: Path | None = None, *, system: bool = False, timeout: float | None = 60,
        patience: float = 60,
    ) -> None:
        self.timeout = timeout
        self.patience = patience
        self._system = system
        self._connection: _Connection | None = self._connect(socket_paths(socket_path, system))
        #: The socket of the daemon. A daemon at another one would not have the tasks.
        self.socket_path = self._connection.path

    def __enter__(self) -> Client:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Ends the connection, and with it its subscriptions and volatile sessions."""
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    # Calls

    def call(self, method: str, /, **parameters: Any) -> Any:
        """Calls a method of the protocol, and returns its result as it arrived.

        If the daemon restarts meanwhile, a call that cannot do harm twice is repeated: one that reads, and `task.add`
        if each task has a `clientToken`.

        :raises CallError: if the daemon refuses.
        :raises ConnectionLost: if the daemon went away, and the call may have changed something.
        :raises NoAnswer: if there was no answer within `timeout`.
        :raises NoDaemon: if the daemon did not come back within `patience`.
        """
        outage = _Outage(self.patience)
        while True:
            connection = self._connected(outage)
            try:
                return connection.request(method, parameters, self.timeout)
            except ConnectionLost as error:
                if connection.has_sent_request and not _may_repeat(method, parameters):
                    raise
                outage.begin(error)
            except CallError as error:
                if error.code != "daemon.shutting_down":
                    raise
                connection.close()
                outage.begin(error)

    def add(self, *tasks: Mapping[str, Any], session: str | None = None) -> list[dict[str, Any]]:
        """Adds tasks (`TaskSpec`) in one transaction, and returns one `AddedTask` for each.

        Each task gets a `clientToken` unless it has one, so that the call is repeated if its answer is lost.
        """
        specs = [{"clientToken": uuid.uuid4().hex, **task} for task in tasks]
        parameters: dict[str, Any] = {"tasks": specs}
        if session is not None:
            parameters["session"] = session
        added: list[dict[str, Any]] = self.call("task.add", **parameters)["tasks"]
        return added

    def download(self, url: str, path: Path | None = None, *, session: str | None = None, **spec: Any) -> int:
        """Adds a download, and returns its id.

        :param path: the file; default: the session's folder, with a name that the server or the URL gives.
        :param spec: other members of `TaskSpec`, such as `checksum={"algorithm": "sha-256", "value": "9f86d0…"}`.
        """
        if path is not None:
            spec["destination"] = {"path": os.path.abspath(path)}
        return int(self.add({"url": url, **spec}, session=session)[0]["id"])

    def upload(self, path: Path, url: str, *, session: str | None = None, **spec: Any) -> int:
        """Adds the upload of a file, and returns its id.

        :param spec: other members of `TaskSpec`, such as `uploadProtocol="put"`.
        """
        task = {"kind": "upload", "source": {"path": os.path.abspath(path)}, "url": url, **spec}
        return int(self.add(task, session=session)[0]["id"])

    # Results

    def get(self, task: int) -> dict[str, Any]:
        """Returns everything about a task."""
        result: dict[str, Any] = self.call("task.get", id=task)
        return result

    def tasks(self, **filters: Any) -> Iterator[dict[str, Any]]:
        """Lists tasks page by page; `filters` are the parameters of `task.list`."""
        while True:
            page = self.call("task.list", **filters)
            yield from page["tasks"]
            if page.get("nextCursor") is None:
                return
            filters["cursor"] = page["nextCursor"]

    def wait(self, task: int, timeout: float | None = None) -> dict[str, Any]:
        """Waits until a task has ended, also across restarts of the daemon, and returns it as `task.get` does.

        :raises TaskError: if it failed or was cancelled.
        :raises CallError: if there is no such task, or it was removed.
        :raises WaitTimeout: after `timeout` seconds. The task continues.
        """
        deadline = _deadline(timeout)
        with self.events(after="now", tasks=[task], types=_FINAL_EVENTS) as events:
            while True:
                result = self.get(task)
                if result["state"] == "completed":
                    return result
                if result["state"] in _FINAL_STATES:
                    raise TaskError(result)
                if not events._changed(deadline):
                    raise WaitTimeout(f"task {task} is {result['state']} after {timeout} s")

    def body(self, task: int) -> bytes:
        """Returns the body of the answer that a `data` task got."""
        body = bytearray()
        while True:
            piece = self.call("task.body", id=task, offset=len(body))
            body += base64.b64decode(piece["data"])
            if piece["eof"]:
                return bytes(body)

    # Events

    def events(self, *, subscriber: str | None = None, acknowledge: bool = True, **filters: Any) -> Events:
        """Subscribes, and returns an iterator over events. Stored events come once and without a gap, also if the daemon restarts.

        :param subscriber: a durable name: events begin after the last one that it acknowledged.
        :param acknowledge: an event is acknowledged when the next one is asked for. If the loop is left before that,
            the event comes again next time, unless `ack` is called for it.
        :param filters: other parameters of `events.subscribe`: `after` (a number, "start" or "now"), `sessions`,
            `tasks`, `types`, `progressInterval`, `owner`.
        """
        return Events(self, subscriber, acknowledge and subscriber is not None, filters)

    def ack(self, subscriber: str, sequence: int) -> None:
        """Acknowledges every event up to this number for a durable name."""
        self.call("events.ack", subscriber=subscriber, sequence=sequence)

    # Connections

    def _connected(self, outage: _Outage) -> _Connection:
        """Returns the connection, which is made anew if it is lost."""
        if self._connection is None:
            raise Error("the client is closed")
        self._connection.leave_after_fork()
        while self._connection.lost is not None:
            outage.begin(ConnectionLost(self._connection.lost))
            outage.wait()
            try:
                self._connection = self._connect([self.socket_path])
            except NoDaemon as error:
                outage.begin(error)
        return self._connection

    def _connect(self, paths: Sequence[str]) -> _Connection:
        reasons = []
        for path in paths:
            try:
                return _Connection(path, self._system)
            except OSError as error:
                reasons.append(f"{path}: {error.strerror or error}")
                if isinstance(error, PermissionError) and path not in SYSTEM_SOCKETS:
                    # The daemon that is meant refuses this user. No other daemon replaces it.
                    break
        advice = "sudo systemctl enable --now dld.service dld.socket" if self._system else "dlctl start"
        raise NoDaemon(f"no daemon answers; start one with: {advice}\n  " + "\n  ".join(reasons))


class Events(Iterator[Event]):
    """The events of a subscription; made by `Client.events`."""

    def __init__(self, client: Client, subscriber: str | None, acknowledges: bool, filters: dict[str, Any]) -> None:
        self._client = client
        self._subscriber = subscriber
        self._acknowledges = acknowledges
        self._parameters = filters if subscriber is None else {**filters, "subscriber": subscriber}
        self._given: Event | None = None
        # It is closed as long as there is no subscription to end.
        self._is_closed = True
        self._subscribe()
        self._is_closed = False

    def __enter__(self) -> Events:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def __del__(self) -> None:
        self.close()

    def __next__(self) -> Event:
        event = self.read()
        if event is None:
            raise StopIteration
        return event

    def read(self, timeout: float | None = None) -> Event | None:
        """Returns the next event, or None if there is none after `timeout` seconds, or the subscription is closed.

        :raises NoDaemon: if the daemon went away and did not come back in time. The next call tries again.
        """
        deadline = _deadline(timeout)
        self._acknowledge()
        while not self._is_closed:
            event = self._take(deadline)
            if event is not None:
                self._given = event
                return event
            if _is_over(deadline):
                break
        return None

    def close(self) -> None:
        """Ends the subscription. The last event is not acknowledged."""
        if not self._is_closed:
            self._is_closed = True
            self._connection.drop(self._subscription)

    def _acknowledge(self) -> None:
        given, self._given = self._given, None
        if self._acknowledges and self._subscriber is not None and given is not None and given.sequence is not None:
            try:
                self._client.ack(self._subscriber, given.sequence)
            except BaseException:
                self._given = given
                raise

    def _changed(self, deadline: float | None) -> bool:
        """Waits for an event, or for another connection, after which events without a number may be missing."""
        while not _is_over(deadline):
            connection = self._connection
            if self._take(deadline) is not None or connection is not self._connection:
                return True
        return False

    def _take(self, deadline: float | None) -> Event | None:
        """Returns the next event; None if it subscribed again, or the time is over."""
        self._connection.leave_after_fork()
        queue = self._connection.events(self._subscription)
        try:
            while not queue:
                if self._connection.lost is not None:
                    raise ConnectionLost(self._connection.lost)
                if _is_over(deadline):
                    return None
                self._connection.exchange(deadline)
        except ConnectionLost:
            self._subscribe()
            return None
        event = queue.popleft()
        if event.sequence is not None:
            # A new subscription continues after it.
            self._parameters["after"] = event.sequence
        return event

    def _subscribe(self) -> None:
        result = self._client.call("events.subscribe", **self._parameters)
        connection = self._client._connection
        if connection is None:
            raise Error("the client is closed")
        self._connection = connection
        self._subscription: str = result["subscription"]
        if result.get("after") is not None:
            self._parameters["after"] = result["after"]


class _Outage:
    """Bounds the attempts to reach a daemon that went away. It has no limit before `begin`."""

    def __init__(self, patience: float) -> None:
        self._patience = patience
        self._deadline: float | None = None
        self._delay = 0.0
        self._error: Error = NoDaemon("no daemon answers")

    def begin(self, error: Error) -> None:
        self._error = error
        if self._deadline is None:
            self._deadline = time.monotonic() + self._patience

    def wait(self) -> None:
        """Waits before the next attempt, a bit longer each time; the first one is made at once."""
        if self._delay > 0 and _is_over(self._deadline):
            raise NoDaemon(f"the daemon did not come back within {self._patience:g} s: {self._error}") from self._error
        time.sleep(self._delay)
        self._delay = min(max(0.05, self._delay * 2), 1.0)


class _Connection:
    """A connected socket with its unread messages.

    It reads while it writes: the daemon stops reading if nobody reads what it sends.
    """

    def __init__(self, path: str, system: bool) -> None:
        self.path = path
        #: Why the connection ended; None while it lasts.
        self.lost: str | None = None
        #: Whether a part of the last request was sent.
        self.has_sent_request = False
        self._process = os.getpid()
        self._number = 0
        self._sent = 0
        self._queued = 0
        self._output = bytearray()
        self._input = bytearray()
        self._answers: dict[int, dict[str, Any]] = {}
        self._awaited: set[int] = set()
        self._events: dict[str, deque[Event]] = {}
        self._dropped: set[str] = set()
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        try:
            _connect(self._socket, path)
            self._refuse_strangers(system)
            self._socket.setblocking(False)
        except BaseException:
            self._socket.close()
            raise

    def _refuse_strangers(self, system: bool) -> None:
        """Another user's daemon could read what is sent, passwords too. Root can read it anyway, and so can the system's daemon."""
        uid: int = struct.unpack("3i", self._socket.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12))[1]
        if uid not in (0, os.geteuid()) and not system and self.path not in SYSTEM_SOCKETS:
            raise PermissionError(0, f"the daemon runs as user {uid}; if you trust it, give system=True")

    def close(self) -> None:
        self._lose("the client closed it")

    def request(self, method: str, parameters: Mapping[str, Any], timeout: float | None) -> Any:
        deadline = _deadline(timeout)
        self.has_sent_request = False
        start = self._queued
        number = self._enqueue(method, parameters)
        self._awaited.add(number)
        try:
            while number not in self._answers:
                if self.lost is not None:
                    raise ConnectionLost(self.lost)
                if _is_over(deadline):
                    raise NoAnswer(f"the daemon at {self.path} has not answered {method} for {timeout:g} s")
                self.exchange(deadline)
        finally:
            self.has_sent_request = self._sent > start
            self._awaited.discard(number)
        answer = self._answers.pop(number)
        if "error" in answer:
            raise CallError(answer["error"])
        return answer.get("result")

    def events(self, subscription: str) -> deque[Event]:
        """Returns the events of a subscription that have arrived and were not taken."""
        return self._events.setdefault(subscription, deque())

    def drop(self, subscription: str) -> None:
        """Ends a subscription without waiting for the answer, so that it is possible at any time."""
        self._events.pop(subscription, None)
        self._dropped.add(subscription)
        if self.lost is None:
            self._enqueue("events.unsubscribe", {"subscription": subscription})

    def leave_after_fork(self) -> None:
        """A forked process makes a connection of its own: on this one, each would take the other's answers."""
        if os.getpid() != self._process:
            self._lose("it belongs to another process")

    def exchange(self, deadline: float | None) -> None:
        """Waits until something can be read or written, or the deadline has passed, and does so."""
        poll = select.poll()
        poll.register(self._socket, select.POLLIN | (select.POLLOUT if self._output else 0))
        # Callers look again at least once a day: poll takes no longer wait.
        wait = None if deadline is None else min(max(0.0, (deadline - time.monotonic()) * 1000), 86_400_000)
        try:
            for _, ready in poll.poll(wait):
                if ready & ~select.POLLOUT:
                    self._receive()
                if ready & select.POLLOUT and self.lost is None:
                    sent = self._socket.send(self._output, socket.MSG_NOSIGNAL)
                    del self._output[:sent]
                    self._sent += sent
        except BlockingIOError:
            pass
        except OSError as error:
            self._lose(error.strerror or str(error))

    def _enqueue(self, method: str, parameters: Mapping[str, Any]) -> int:
        # The collector may end a subscription, and so come back here, at any moment.
        number = self._number = self._number + 1
        message = {"jsonrpc": "2.0", "id": number, "method": method, "params": parameters}
        line = json.dumps(message, separators=(",", ":")).encode() + b"\n"
        self._output += line
        self._queued += len(line)
        return number

    def _receive(self) -> None:
        data = self._socket.recv(1 << 18)
        if not data:
            self._lose("the daemon ended it")
            return
        # Only the new bytes may end a line.
        start = len(self._input)
        self._input += data
        end = self._input.rfind(b"\n", start)
        if end < 0:
            return
        lines = bytes(self._input[:end])
        del self._input[: end + 1]
        try:
            for line in lines.split(b"\n"):
                self._dispatch(json.loads(line))
        except ValueError:
            self._lose("it sent a line that is not JSON")

    def _dispatch(self, message: dict[str, Any]) -> None:
        if message.get("method") == "event":
            event = Event(message["params"])
            # The number of a subscription concerns its connection alone.
            subscription = event.pop("subscription", "")
            if subscription not in self._dropped:
                self.events(subscription).append(event)
        elif message.get("id") in self._awaited:
            self._answers[message["id"]] = message
        elif message.get("id") is None and "error" in message:
            # The daemon could not read the request, because it is too long.
            self._answers.update(dict.fromkeys(self._awaited, message))

    def _lose(self, reason: str) -> None:
        if self.lost is None:
            self.lost = f"the connection to the daemon at {self.path} ended: {reason}"
        self._socket.close()


def _connect(connection: socket.socket, path: str) -> None:
    """Connects to a socket whose path may be longer than an address: then through its folder."""
    if len(os.fsencode(path)) <= _LONGEST_ADDRESS:
        connection.connect(path)
        return
    folder = os.open(os.path.dirname(path), os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        connection.connect(f"/proc/self/fd/{folder}/{os.path.basename(path)}")
    finally:
        os.close(folder)


def _may_repeat(method: str, parameters: Mapping[str, Any]) -> bool:
    if method == "task.add":
        return all(task.get("clientToken") for task in parameters.get("tasks", ()))
    return method.rpartition(".")[2] in _REPEATABLE


def _deadline(timeout: float | None) -> float | None:
    return None if timeout is None else time.monotonic() + timeout


def _is_over(deadline: float | None) -> bool:
    return deadline is not None and time.monotonic() >= deadline
