"""File systems in image files on loop devices, whose power can be cut. Needs root."""
import contextlib
import fcntl
import os
import pathlib
import shutil
import stat
import struct
import subprocess
import time

FS_IOC_SHUTDOWN = 0x8004587D
NO_LOG_FLUSH = 2
#: Seconds in which a disk must be free after its daemon died.
LIMIT = 5.0
#: Kind -> the command that creates it, and its megabytes (xfs does not allow less than 300).
KINDS = {"ext4": (["mkfs.ext4", "-q", "-F"], 160), "xfs": (["mkfs.xfs", "-q", "-f"], 320), "btrfs": (["mkfs.btrfs", "-q", "-f"], 160)}


LOOP_MAJOR, FIRST_LOOP = 7, 1 << 16
LOOP_CTL_ADD, LOOP_CTL_REMOVE = 0x4C80, 0x4C81


def control_loops(request, number):
    control = os.open("/dev/loop-control", os.O_RDWR)
    try:
        fcntl.ioctl(control, request, number)
    except FileExistsError:
        pass
    finally:
        os.close(control)


def available(kind):
    return os.geteuid() == 0 and shutil.which(KINDS[kind][0][0]) is not None


def run(*command, fine=(0,)):
    """`fine`: exit statuses that are no failure."""
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True)
    if done.returncode not in fine:
        raise OSError(f"{' '.join(map(str, command))}: {done.stderr.strip()}")
    return done.stdout.strip()


class FileSystem:
    """`image` is created if it does not exist, with `megabytes` if the default size of the kind does not fit. All
    mounts of one process use the same loop device number, because another number means another disk to the daemon.
    They are below a shared mount (mount_namespaces(7)): if a process gets copies of all mounts, as with ip-netns(8),
    its copies are unmounted together with these."""

    def __init__(self, kind, folder, image=None, megabytes=None, options="defaults"):
        self.kind, self.folder = kind, pathlib.Path(folder)
        self.shared = self.folder / "mounts"
        self.path = self.shared / "disk"
        self.path.mkdir(parents=True, exist_ok=True)
        self.options = options
        self.image = pathlib.Path(image) if image else self.folder / "image"
        if not self.image.exists():
            maker, usual = KINDS[kind]
            with open(self.image, "wb") as file:
                file.truncate((megabytes or usual) << 20)
            run(*maker, self.image)
        self.is_mounted = False
        self.number = FIRST_LOOP + os.getpid()
        self.device = f"/dev/loop{self.number}"
        control_loops(LOOP_CTL_ADD, self.number)
        if not os.path.exists(self.device):
            os.mknod(self.device, 0o600 | stat.S_IFBLK, os.makedev(LOOP_MAJOR, self.number))
        run("mount", "--bind", self.shared, self.shared)
        run("mount", "--make-shared", self.shared)
        self.mount()

    def mount(self):
        run("losetup", self.device, self.image)
        # xfs refuses a second file system with the same UUID, which copies of an image have.
        more = ",nouuid" if self.kind == "xfs" else ""
        run("mount", "-t", self.kind, "-o", self.options + more, self.device, self.path)
        self.is_mounted = True

    def sync(self):
        run("sync", "-f", self.path)

    def cut(self):
        """Simulates a power cut: everything that is not on the disk is lost, and every call fails from now on."""
        folder = os.open(self.path, os.O_RDONLY | os.O_DIRECTORY)
        try:
            fcntl.ioctl(folder, FS_IOC_SHUTDOWN, struct.pack("I", NO_LOG_FLUSH))
        finally:
            os.close(folder)

    def unmount(self):
        if not self.is_mounted:
            return
        deadline = time.monotonic() + LIMIT
        while self.is_mounted:
            try:
                run("umount", self.path)
                self.is_mounted = False
            except OSError:
                # A process that the daemon was just starting ends with it, but closes its files a moment later.
                if time.monotonic() > deadline:
                    raise
                time.sleep(0.01)
        # Nothing in the device's cache survives the power cut.
        run("losetup", "--detach", self.device)

    def end(self):
        if self.is_mounted:
            subprocess.run(["umount", "-l", str(self.path)], capture_output=True)
            self.is_mounted = False
            subprocess.run(["losetup", "--detach", self.device], capture_output=True)
        subprocess.run(["umount", "-l", str(self.shared)], capture_output=True)
        with contextlib.suppress(OSError):
            control_loops(LOOP_CTL_REMOVE, self.number)
        with contextlib.suppress(OSError):
            os.unlink(self.device)
        self.image.unlink(missing_ok=True)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.end()
