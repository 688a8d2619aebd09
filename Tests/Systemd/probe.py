"""Tries everything that the unit's directives forbid, as a program under them. Prints one line for each attempt. The
exit status is 1 if one succeeds."""

import ctypes
import mmap
import os
import resource
import socket
import sys

libc = ctypes.CDLL(None, use_errno=True)


def call(name, *arguments):
    """A call of the C library that the kernel must refuse."""
    if getattr(libc, name)(*arguments) == -1:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))


def address_family(family):
    socket.socket(family, socket.SOCK_DGRAM).close()


def write_to(path):
    open(path, "w").close()


def listing(path):
    if not os.listdir(path):
        raise OSError("empty")


def executable_memory():
    mmap.mmap(-1, 4096, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC).close()


def set_user_bit():
    """Uses a new file."""
    path = "/tmp/set-user"
    write_to(path)
    os.chmod(path, 0o4755)


def real_time():
    os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(1))


def more_descriptors():
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard + 1, hard + 1))


FORBIDDEN = {
    "packets of the network": lambda: address_family(socket.AF_PACKET),
    "another family of sockets": lambda: address_family(socket.AF_ALG),
    "writing in /etc": lambda: write_to("/etc/dld-probe"),
    "writing in /var/lib": lambda: write_to("/var/lib/dld-probe"),
    "homes of users": lambda: listing("/home"),
    "memory that is written and run": executable_memory,
    "a set-user-id bit": set_user_bit,
    "a name space of its own": lambda: call("unshare", 0x10000000),
    "mounting": lambda: call("mount", b"none", b"/tmp", b"tmpfs", 0, None),
    "becoming root": lambda: call("setuid", 0),
    "the clock": lambda: call("settimeofday", ctypes.create_string_buffer(16), None),
    "the name of the host": lambda: call("sethostname", b"x", 1),
    "tracing": lambda: call("ptrace", 16, 1, None, None),
    "the kernel's log": lambda: open("/dev/kmsg").close(),
    "settings of the kernel": lambda: write_to("/proc/sys/kernel/core_pattern"),
    "control groups": lambda: os.mkdir("/sys/fs/cgroup/dld-probe"),
    "real-time scheduling": real_time,
    "processes of others": lambda: os.stat("/proc/1/cmdline"),
    "more descriptors": more_descriptors,
}


def main():
    worked = False
    for what, attempt in FORBIDDEN.items():
        try:
            attempt()
        except (OSError, ValueError) as refusal:
            print("held: %s (%s)" % (what, refusal))
        else:
            worked = True
            print("NOT HELD: %s" % what)
    # Everything that the daemon needs must work.
    for family in (socket.AF_UNIX, socket.AF_INET, socket.AF_INET6):
        address_family(family)
    socket.socket(socket.AF_NETLINK, socket.SOCK_RAW).close()
    open("/proc/sys/kernel/random/boot_id").close()
    sys.exit(1 if worked else 0)


main()
