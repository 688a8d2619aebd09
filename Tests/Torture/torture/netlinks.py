"""Cases in their own network: links that go down, names that do not resolve, packets that are lost. Need root."""
import os
import shutil
import socket
import struct
import subprocess
import threading

from torture.answers import good
from torture.filesystem import run
from torture.netscene import SILENCE, Scene, piece, resource

HELD = 300_000
HOST = "files.example.test"
NXDOMAIN, SERVFAIL, REFUSED = 3, 2, 5


def available():
    return os.geteuid() == 0 and shutil.which("ip") is not None and shutil.which("iptables") is not None


class Net:
    """A network namespace for the daemon, and a pair of links to this namespace, which has the servers."""

    def __init__(self, setup):
        number = os.getpid()
        self.name, self.link, peer = f"dldt{number}", f"dt{number}", f"du{number}"
        self.here, there = f"10.{number >> 8 & 127 | 128}.{number & 255}.1", f"10.{number >> 8 & 127 | 128}.{number & 255}.2"
        self.folder = setup.work / f"net-{number}"
        self.folder.mkdir(exist_ok=True)
        self.end()
        for words in (f"netns add {self.name}", f"link add {self.link} type veth peer name {peer}",
                      f"link set {peer} netns {self.name}", f"addr add {self.here}/30 dev {self.link}", f"link set {self.link} up",
                      f"-n {self.name} addr add {there}/30 dev {peer}", f"-n {self.name} link set {peer} up",
                      f"-n {self.name} link set lo up", f"-n {self.name} route add default via {self.here}"):
            run("ip", *words.split())
        (self.folder / "resolv.conf").write_text(f"nameserver {self.here}\noptions timeout:1 attempts:1\n")
        self.program = self.folder / "dld"
        # It has its own mounts there (ip-netns(8)).
        self.program.write_text(
            "#!/bin/sh\n"
            f"exec ip netns exec {self.name} sh -c '"
            f'mount --bind "{self.folder}/resolv.conf" /etc/resolv.conf && exec "$0" "$@"\' "{setup.program}" "$@"\n')
        self.program.chmod(0o755)

    def set_link(self, state):
        run("ip", "link", "set", self.link, state)

    def rule(self, action, *words):
        """`action` is -A or -D. The rule is for packets that the daemon sends."""
        run("ip", "netns", "exec", self.name, "iptables", action, "OUTPUT", *words)

    def end(self):
        for words in (["link", "del", self.link], ["netns", "del", self.name]):
            subprocess.run(["ip", *words], capture_output=True)


class Names(threading.Thread):
    """A name server. `code` answers every question, None answers none, and 0 gives `address` for A."""

    def __init__(self, address, code):
        super().__init__(daemon=True)
        self.code, self.address, self.asked = code, address, 0
        self.socket = socket.socket(type=socket.SOCK_DGRAM)
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        self.socket.bind((address, 53))
        self.start()

    def run(self):
        while True:
            try:
                question, sender = self.socket.recvfrom(512)
            except OSError:
                return
            self.asked += 1
            if self.code is not None:
                self.socket.sendto(self.answer(question), sender)

    def answer(self, question):
        end = question.index(b"\0", 12) + 5
        is_address = question[end - 4:end - 2] == b"\0\1"
        found = self.code == 0 and is_address
        record = b"\xc0\x0c" + struct.pack(">HHIH", 1, 1, 1, 4) + socket.inet_aton(self.address) if found else b""
        return question[:2] + struct.pack(">HHHHH", 0x8180 | self.code, 1, int(found), 0, 0) + question[12:end] + record

    def end(self):
        self.socket.close()


def played(play):
    """Runs `play(scene, net, origin)` in its own network, with a good server on the other side."""
    def case(setup):
        net = Net(setup)
        scene = None
        try:
            scene = Scene(setup, [piece()], program=str(net.program), connections=1)
            origin = scene.origin(good(resource()), host=net.here)
            scene.start()
            play(scene, net, origin)
            scene.await_state("completed")
            scene.judge()
            return scene
        finally:
            if scene:
                scene.stage.victim.kill()
            net.end()
    return case


def held(scene, origin):
    """A part of the file arrives, and the rest never does."""
    origin.script[:] = [good(resource(), cut=HELD, end="hang"), good(resource())]
    scene.add(origin.url, timeoutIntervalForRequest=SILENCE)
    scene.until(lambda: scene.task()["bytesReceived"] >= HELD, "the first part")


def went_on(scene, origin):
    scene.await_state("completed")
    if origin.firsts[-1:] != [HELD]:
        scene.stage.report(f"it went on from {origin.firsts}", 3)


def connections_vanish(scene, net, origin):
    """SYN packets are dropped."""
    rule = ["-p", "tcp", "--dport", str(origin.port), "-j", "DROP"]
    net.rule("-A", *rule)
    scene.add(origin.url, timeoutIntervalForRequest=SILENCE)
    scene.await_event("task.waiting", reason="retry")
    net.rule("-D", *rule)


def connection_vanishes(scene, net, origin):
    """The packets of an established connection are dropped, and those of the next ones."""
    held(scene, origin)
    rule = ["-p", "tcp", "--dport", str(origin.port), "-j", "DROP"]
    net.rule("-A", *rule)
    scene.await_event("task.waiting", "network.timeout", "retry")
    net.rule("-D", *rule)
    went_on(scene, origin)


def rejected(reject):
    def play(scene, net, origin):
        rule = ["-p", "tcp", "--dport", str(origin.port), "-j", "REJECT", "--reject-with", reject]
        net.rule("-A", *rule)
        scene.add(origin.url)
        scene.await_event("task.waiting", "network.connect")
        net.rule("-D", *rule)
    return play


def link_flaps(scene, net, origin):
    """The link goes down in the middle. The task waits for the network, and continues when it is back."""
    held(scene, origin)
    net.set_link("down")
    scene.await_state("waiting", reason="network")
    net.set_link("up")
    went_on(scene, origin)


def link_flaps_fast(scene, net, origin):
    held(scene, origin)
    for state in ["down", "up"] * 6:
        net.set_link(state)
    scene.await_state("completed")


def no_link_at_first(scene, net, origin):
    net.set_link("down")
    scene.add(origin.url)
    scene.await_state("waiting", reason="network")
    net.set_link("up")


def no_link_across_a_death(scene, net, origin):
    """The daemon dies while there is no network. The next one waits too."""
    held(scene, origin)
    net.set_link("down")
    scene.await_state("waiting", reason="network")
    scene.restart()
    scene.await_state("waiting", reason="network")
    net.set_link("up")
    went_on(scene, origin)


def resolves_late(code):
    def play(scene, net, origin):
        names = Names(net.here, code)
        try:
            scene.add(origin.url.replace(net.here, HOST), timeoutIntervalForRequest=20)
            scene.await_event("task.waiting", "network.dns", "retry")
            names.code = 0
            scene.await_state("completed")
        finally:
            names.end()
    return play


def name_is_lost(scene, net, origin):
    """The name resolves once. Then the connection breaks, and the name does not resolve for a while."""
    names = Names(net.here, 0)
    origin.script[:] = [good(resource(), cut=HELD, end="close"), good(resource())]
    rule = ["-p", "udp", "--dport", "53", "-j", "DROP"]
    try:
        net.rule("-A", *rule)
        scene.add(origin.url.replace(net.here, HOST), timeoutIntervalForRequest=20)
        scene.await_event("task.waiting", "network.dns", "retry")
        net.rule("-D", *rule)
        went_on(scene, origin)
    finally:
        names.end()


def packets_are_lost(scene, net, origin):
    """Every fourth packet from the daemon is lost."""
    origin.script[:] = [good(resource())]
    net.rule("-A", "-p", "tcp", "-m", "statistic", "--mode", "nth", "--every", "4", "--packet", "0", "-j", "DROP")
    scene.add(origin.url, timeoutIntervalForRequest=30)
    scene.await_state("completed")


CASES = {name: played(play) for name, play in {
    "new connections vanish": connections_vanish, "a connection vanishes": connection_vanishes,
    **{f"rejected: {reject}": rejected(reject) for reject in
       ("icmp-port-unreachable", "icmp-host-unreachable", "icmp-net-unreachable", "icmp-admin-prohibited", "tcp-reset")},
    "the link goes down and up": link_flaps, "the link flaps": link_flaps_fast, "no link at first": no_link_at_first,
    "the link goes and the daemon dies": no_link_across_a_death,
    "no such name, then it is": resolves_late(NXDOMAIN), "the name server fails": resolves_late(SERVFAIL),
    "the name server refuses": resolves_late(REFUSED), "the name server is silent": resolves_late(None),
    "names are lost on the way": name_is_lost, "packets are lost": packets_are_lost}.items()} if available() else {}
