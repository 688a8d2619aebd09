"""Facts about the machine and the programs, for the head of the tables."""
import os
import pathlib
import platform
import subprocess


def line_of(command):
    try:
        return subprocess.run(command, capture_output=True, text=True).stdout.strip().splitlines()[0]
    except (OSError, IndexError):
        return "?"


def field(path, name):
    for line in pathlib.Path(path).read_text().splitlines():
        if line.startswith(name):
            return line.split(":", 1)[1].strip()
    return "?"


def release():
    for line in pathlib.Path("/etc/os-release").read_text().splitlines():
        if line.startswith("PRETTY_NAME="):
            return line.split("=", 1)[1].strip('"')
    return platform.system()


def facts(context):
    gibibytes = int(field("/proc/meminfo", "MemTotal").split()[0]) / (1 << 20)
    info = context.each_build(lambda daemon: daemon.call("daemon.info"))["dld"]
    checkout = pathlib.Path(__file__).resolve().parents[2]
    commit = line_of(["git", "-C", str(checkout), "rev-parse", "--short", "HEAD"])
    return [
        f"{os.cpu_count()} cores ({field('/proc/cpuinfo', 'model name')}), {gibibytes:.0f} GiB, {release()}, Linux "
        f"{platform.release().split('-')[0]}; files on {line_of(['stat', '-f', '-c', '%T', str(context.work)])}; servers on "
        "loopback share the cores with whoever is measured",
        f"dld {info['version']} at {commit}, release build, libcurl {info['libcurl']}, SQLite {info['sqlite']}; "
        f"{context.rounds} rounds{', small sizes' if context.small else ''}",
        "peers: " + ", ".join(f"{peer.name} {peer.version()}" for peer in context.peers)
        + (f"; not found: {', '.join(context.missing)}" if context.missing else ""),
        "the profiles and limits of bars that are not met: [HISTORY.md](HISTORY.md)",
    ]
