"""Isolate one submission from the machine and from other submissions, and leave no process behind.

Bubblewrap isolates the server as a whole. These functions isolate each of the server's children in addition:
namespaces, a /tmp of its own, resource limits, no capabilities, and a filter of system calls. Further functions end a
process together with the one that it works for (`die_with_parent`, `exit_on_hangup`), or measure what a process takes.
Nothing here imports torch.
"""

import ctypes
import fcntl
import os
import resource
import select
import signal
import struct
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from grader.sandbox.inside import seccomp

# <linux/sched.h>, <linux/mount.h>, <linux/prctl.h>, <linux/capability.h>
_NEW_MOUNTS, _NEW_IPC, _NEW_PIDS = 0x20000, 0x8000000, 0x20000000
_READ_ONLY, _NO_SUID, _NO_DEVICES, _NO_EXECUTION = 1, 2, 4, 8
_BIND, _RECURSIVE = 0x1000, 0x4000
_PR_SET_PDEATHSIG, _PR_CAP_AMBIENT, _PR_CAP_AMBIENT_CLEAR_ALL = 1, 47, 4
_CAPABILITY_VERSION_3 = 0x20080522
_NO_CAPABILITIES = bytes(
    24
)  # for `capset`: effective, permitted and inheritable, 32 bits each, twice: all zero


@dataclass(frozen=True)
class Bounds:
    """Resource limits of one child, which the kernel and the server enforce; `client.Limits` has the others.

    All are plain numbers, so that they can be sent as JSON.
    """

    memory_bytes: int
    """Memory beyond what the warmed server already holds."""
    cpu_seconds: float
    """Processor time of all the child's threads."""
    file_bytes: int = 64 * 2**20
    """Maximum size of a file, and of everything in the child's /tmp together."""
    open_files: int = 256
    """Number of files that may be open at the same time."""
    files: int = 4096
    """Number of files, folders and links in the child's /tmp, which take kernel memory even if they are empty."""


def new_namespaces(*, pids: bool = True) -> None:
    """Give processes that are forked from now on mount and IPC namespaces of their own, and a PID namespace.

    The network and host name namespaces are bubblewrap's, which are empty. A network namespace for each child would
    cost 5 ms, and a child that cannot create sockets leaves nothing in it for the next one.

    No user namespace is created here. The capability to create the others comes from bubblewrap's user namespace, and
    `drop_rights` gives it up. A second user namespace would fail where AppArmor or a nested container allows only one.

    Args:
        pids: create the PID namespace. Not for CUDA, which does not start in one that /proc does not show (error 304 of
            `cuInit`, seen with driver 580); a new /proc for it cannot be mounted, as said in `mount_own_files`.

    Raises:
        OSError: the kernel refused it.
    """
    _check("unshare", _libc().unshare(_NEW_MOUNTS | _NEW_IPC | (_NEW_PIDS if pids else 0)))


def mount_own_files(bounds: Bounds, visible: Sequence[str] = ()) -> None:
    """Mount a fresh, small /tmp as working directory, and an empty /proc.

    Args:
        bounds: `file_bytes` limits the size of /tmp, `files` the number of files in it.
        visible: folders below /tmp that stay visible, such as a virtual environment there.

    Raises:
        OSError: the kernel refused it.
    """
    descriptors = {path: os.open(path, os.O_PATH) for path in visible}  # the new /tmp hides the paths
    flags = _NO_SUID | _NO_DEVICES
    options = f"size={bounds.file_bytes},nr_inodes={bounds.files},mode=0700".encode()
    _check("mount /tmp", _libc().mount(b"tmpfs", b"/tmp", b"tmpfs", flags, options))
    for path, fd in descriptors.items():
        os.makedirs(path, exist_ok=True)
        result = _libc().mount(
            f"/proc/self/fd/{fd}".encode(), os.fsencode(path), None, _BIND | _RECURSIVE, None
        )
        _check(f"mount {path}", result)
        os.close(fd)
    # An empty folder and not a new procfs, which the kernel refuses where the existing procfs is partly masked, as
    # bubblewrap's is.
    flags |= _READ_ONLY | _NO_EXECUTION
    _check("mount /proc", _libc().mount(b"tmpfs", b"/proc", b"tmpfs", flags, b"size=4k,mode=0555"))
    os.chdir("/tmp")


def set_limits(bounds: Bounds, *, address_space: bool) -> None:
    """Set the resource limits of this process.

    Args:
        bounds: the limits.
        address_space: limit the address space too, which covers shared mappings. Not for CUDA, which reserves far more
            addresses than it uses.
    """
    _set_limit(resource.RLIMIT_CORE, 0)
    _set_limit(resource.RLIMIT_FSIZE, bounds.file_bytes)
    _set_limit(resource.RLIMIT_NOFILE, bounds.open_files)
    _set_limit(resource.RLIMIT_CPU, int(bounds.cpu_seconds) + 1)
    if sys.platform != "linux":
        return  # macOS does not enforce the two below
    status = process_status("self")
    _set_limit(resource.RLIMIT_DATA, status["VmData"] + bounds.memory_bytes)
    if address_space:
        # 1 GiB more: each thread's malloc arena reserves 128 MiB of addresses that it does not use.
        _set_limit(resource.RLIMIT_AS, status["VmSize"] + bounds.memory_bytes + 2**30)


def drop_rights(*, drives_devices: bool = False) -> None:
    """Give up all capabilities and allow only harmless system calls, in all threads and irrevocably.

    Args:
        drives_devices: True if the child may talk to a GPU. It has no PID namespace of its own then, so it may send
            signals only to itself.

    Raises:
        OSError: the kernel refused it.
    """
    libc = _libc()
    _check("ambient capabilities", libc.prctl(_PR_CAP_AMBIENT, _PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0))
    header = struct.pack("Ii", _CAPABILITY_VERSION_3, 0)
    _check("capset", libc.capset(header, _NO_CAPABILITIES))
    if seccomp.supported():  # on other machines, the server's count of processes stops a fork bomb
        seccomp.install(drives_devices=drives_devices)


def die_with_parent(parent: int | None = None) -> None:
    """Have the kernel kill this process when the process that forked it ends, however that happens (Linux only).

    Args:
        parent: id of the parent; if the parent has ended already, this process ends now. None: do not check, because
            the first process of a PID namespace cannot see its parent.
    """
    if sys.platform == "linux":
        _check("prctl", _libc().prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0))
        if parent is not None and os.getppid() != parent:
            os._exit(1)


def exit_on_hangup(fd: int) -> None:
    """End this process as soon as the other end of the socket `fd` is closed, or at once if it is closed already.

    A running server notices the closed control socket by itself. A starting one imports torch and reads nothing for
    seconds: if the grader were killed meanwhile, the server would be left behind for that long.
    """
    if not hasattr(select, "POLLRDHUP"):  # not Linux: only the warm server notices that the socket is closed
        return

    def exit_if_closed(_number: int, _frame: Any) -> None:
        poll = select.poll()
        poll.register(fd, select.POLLRDHUP)
        if poll.poll(0):
            os._exit(0)

    signal.signal(signal.SIGIO, exit_if_closed)
    # Data that arrives raises the signal too: system calls that it interrupts are begun again.
    signal.siginterrupt(signal.SIGIO, False)
    fcntl.fcntl(fd, fcntl.F_SETOWN, os.getpid())
    fcntl.fcntl(fd, fcntl.F_SETFL, fcntl.fcntl(fd, fcntl.F_GETFL) | os.O_ASYNC)
    exit_if_closed(signal.SIGIO, None)


def stop_exiting_on_hangup(fd: int) -> None:
    """Undo `exit_on_hangup`: from now on the server reads the socket and notices by itself that it is closed.

    The socket is silenced first, because the default action of SIGIO ends a process.
    """
    if hasattr(select, "POLLRDHUP"):
        fcntl.fcntl(fd, fcntl.F_SETFL, fcntl.fcntl(fd, fcntl.F_GETFL) & ~os.O_ASYNC)
        signal.signal(signal.SIGIO, signal.SIG_DFL)


def max_threads() -> int:
    """Return how many threads a child may have.

    There must be a limit, because no resource limit counts the kernel memory of threads. It depends on the number of
    cores, because BLAS starts a thread for each core.
    """
    return 64 + 4 * (os.cpu_count() or 1)


def process_status(process: int | str) -> dict[str, int]:
    """Return the numbers in /proc/PROCESS/status (`VmRSS` in bytes, `Threads` …); empty if the process is gone."""
    numbers = {}
    try:
        text = Path(f"/proc/{process}/status").read_text()
    except OSError:
        return {}
    for line in text.splitlines():
        key, _, value = line.partition(":")
        words = value.split()
        if words and words[0].isdigit():
            numbers[key] = int(words[0]) * (1024 if words[-1] == "kB" else 1)
    return numbers


def processor_seconds(process: int) -> float:
    """Return the processor time of all threads of a process so far; 0.0 if it is gone, or there is no /proc."""
    try:
        # Field 2, the name, is in parentheses and may hold anything, so split after it: that leaves field 3 and on.
        fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return 0.0
    user, system = fields[11:13]  # fields 14 and 15 of the line
    return (int(user) + int(system)) / os.sysconf("SC_CLK_TCK")


def self_test() -> None:
    """Try new namespaces, and in a forked child limits, mounts and dropped rights; does not need torch.

    The namespaces of this process stay changed for its later children, so call it in a process of its own.

    Raises:
        OSError: the kernel refuses one of the steps.
    """
    bounds = Bounds(memory_bytes=2**28, cpu_seconds=5)
    new_namespaces()
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        problem = ""
        try:
            set_limits(bounds, address_space=True)
            mount_own_files(bounds)
            drop_rights()
            Path("/tmp/test").write_text("")
        except Exception as error:
            problem = str(error)
        os.write(writing, problem.encode())
        os._exit(0)
    os.close(writing)
    with os.fdopen(reading) as pipe:
        problem = pipe.read()
    _, status = os.waitpid(child, 0)
    if problem or status:
        raise OSError(problem or f"the child ended with status {status}")


def _libc() -> ctypes.CDLL:
    return ctypes.CDLL(None, use_errno=True)


def _check(what: str, result: int) -> None:
    """Raise OSError with the current errno if a system call returned anything but 0."""
    if result != 0:
        number = ctypes.get_errno()
        raise OSError(number, f"{what}: {os.strerror(number)}")


def _set_limit(kind: int, value: int) -> None:
    """Set a resource limit to `value`, or to the existing hard limit if that is lower, because nobody may raise it."""
    _, hard = resource.getrlimit(kind)
    if hard != resource.RLIM_INFINITY:
        value = min(value, hard)
    resource.setrlimit(kind, (value, value))
