"""Isolate one submission from the machine and from other submissions, and leave no process behind.

Bubblewrap isolates the server as a whole. In addition, these functions isolate each child of the server, in this order:

    create_namespaces (in the keeper, the child's parent), set_limits, replace_tmp_and_proc, drop_rights

`server.py _run_keeper` calls the first, `child.py become_child` the others. `set_limits` comes before /proc is hidden,
because it reads sizes there; it runs without isolation too. `self_test` tries all four. Other functions end a process
together with the one that it works for (`die_with_parent`, `exit_on_hangup`, `stop_exiting_on_hangup`), or measure what
a process uses (`process_status`, `used_cpu_seconds`), which the server compares with the limits. Two functions are
called from code in strings only: `exit_on_hangup` in `server_process.py`, `self_test` in `bubblewrap.py`.

To add a limit that the kernel enforces, add a field of `Bounds` and a line in `set_limits`. Which system calls are
allowed is decided in `system_calls.py`. Nothing here imports torch, because the server starts by importing this.
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

# Numbers from the kernel's headers, because Python 3.11 does not offer them: <linux/sched.h>, <linux/mount.h>,
# <linux/prctl.h>, <linux/capability.h>.
_NEW_MOUNTS, _NEW_IPC, _NEW_PIDS = 0x20000, 0x8000000, 0x20000000  # CLONE_NEWNS, CLONE_NEWIPC, CLONE_NEWPID
_READ_ONLY, _NO_SUID, _NO_DEVICES, _NO_EXECUTION = 1, 2, 4, 8  # MS_RDONLY, MS_NOSUID, MS_NODEV, MS_NOEXEC
_BIND, _RECURSIVE = 0x1000, 0x4000  # MS_BIND, MS_REC
_PR_SET_PDEATHSIG, _PR_CAP_AMBIENT, _PR_CAP_AMBIENT_CLEAR_ALL = 1, 47, 4
_CAPABILITY_VERSION_3 = 0x20080522  # _LINUX_CAPABILITY_VERSION_3
_NO_CAPABILITIES = bytes(24)
"""The three empty sets for `capset` (effective, permitted, inheritable): two structs of three 32-bit numbers."""


@dataclass(frozen=True)
class Bounds:
    """The limits of one child that are enforced inside the sandbox, by the kernel or the server, for its whole life.

    Memory and processor time come from `sandbox.client.Limits`; the caller cannot choose the others. All are plain
    numbers, so that they can be sent as JSON.
    """

    memory_bytes: int
    """Memory beyond what the warmed server already holds."""
    cpu_seconds: float
    """Processor time of all the child's threads, for all its exercises together."""
    tmp_bytes: int = 64 * 2**20
    """Maximum size of everything in the child's /tmp together, and of any single file."""
    open_files: int = 256
    """Maximum number of files that may be open at the same time."""
    tmp_inodes: int = 4096
    """Maximum number of files, folders and links in the child's /tmp. Even empty ones take kernel memory."""


def create_namespaces(*, own_pids: bool = True) -> None:
    """Move this process into new mount and IPC namespaces, and what it forks from now on into a new PID namespace.

    All children share bubblewrap's empty network namespace. One for each child would cost 5 ms, and is hardly needed:
    where seccomp is supported, the filter of system calls refuses network sockets, so a child leaves nothing there for
    the next one. Elsewhere a child may leave a socket there, which ends with the child.

    All children share bubblewrap's user namespace, too, because one for each child would fail where AppArmor or a
    nested container allows only one. Inside bubblewrap's, this process has the capability to create the other
    namespaces; each child gives that capability up in `drop_rights`.

    Args:
        own_pids: create the PID namespace too. False for CUDA, which starts only if /proc shows the process's own PID
            namespace (otherwise `cuInit` fails with error 304, seen with driver 580). A new /proc for a new PID
            namespace cannot be mounted (see `replace_tmp_and_proc`).

    Raises:
        OSError: the kernel refused it.
    """
    _raise_if_failed("unshare", _libc().unshare(_NEW_MOUNTS | _NEW_IPC | (_NEW_PIDS if own_pids else 0)))


def set_limits(bounds: Bounds, *, limit_address_space: bool) -> None:
    """Set the resource limits of this process.

    Args:
        bounds: the limits that the kernel enforces.
        limit_address_space: limit the address space too, which includes shared mappings. False for CUDA, which
            reserves far more addresses than it uses.
    """
    _set_limit(resource.RLIMIT_CORE, 0)
    _set_limit(resource.RLIMIT_FSIZE, bounds.tmp_bytes)
    _set_limit(resource.RLIMIT_NOFILE, bounds.open_files)
    _set_limit(resource.RLIMIT_CPU, kernel_cpu_seconds(bounds.cpu_seconds))
    if sys.platform != "linux":
        return  # macOS does not enforce the limits below, and has no /proc
    status = process_status("self")
    _set_limit(resource.RLIMIT_DATA, status["VmData"] + bounds.memory_bytes)
    if limit_address_space:
        # 1 GiB more, for 8 threads at once: malloc reserves 128 MiB of addresses for each, and hardly uses them.
        _set_limit(resource.RLIMIT_AS, status["VmSize"] + bounds.memory_bytes + 2**30)


def kernel_cpu_seconds(cpu_seconds: float) -> int:
    """Return the processor time at which the kernel ends a child: its limits are whole seconds, so the next one."""
    return int(cpu_seconds) + 1


def replace_tmp_and_proc(bounds: Bounds, visible_folders: Sequence[str] = ()) -> None:
    """Mount a small /tmp as working directory, empty but for `visible_folders`, and an empty folder over /proc.

    /proc is not replaced by a new procfs, because the kernel refuses one where the existing one is partly masked, as
    bubblewrap's is.

    Args:
        bounds: `tmp_bytes` limits the size of /tmp, `tmp_inodes` the number of files in it.
        visible_folders: folders below /tmp that stay visible, read-only as before, such as a virtual environment there.

    Raises:
        OSError: the kernel refused it.
    """
    # The order matters: the folders must be opened before the new /tmp hides their paths, and mounted before /proc is
    # hidden, because once the new /tmp is there only /proc/self/fd leads to them.
    descriptors = {path: os.open(path, os.O_PATH) for path in visible_folders}
    flags = _NO_SUID | _NO_DEVICES
    options = f"size={bounds.tmp_bytes},nr_inodes={bounds.tmp_inodes},mode=0700".encode()
    _raise_if_failed("mount /tmp", _libc().mount(b"tmpfs", b"/tmp", b"tmpfs", flags, options))
    for path, fd in descriptors.items():
        os.makedirs(path, exist_ok=True)
        result = _libc().mount(
            f"/proc/self/fd/{fd}".encode(), os.fsencode(path), None, _BIND | _RECURSIVE, None
        )
        _raise_if_failed(f"mount {path}", result)
        os.close(fd)
    proc_flags = flags | _READ_ONLY | _NO_EXECUTION
    proc_options = b"size=4k,mode=0555"
    _raise_if_failed("mount /proc", _libc().mount(b"tmpfs", b"/proc", b"tmpfs", proc_flags, proc_options))
    os.chdir("/tmp")


def drop_rights(*, uses_gpu: bool = False) -> None:
    """Give up all capabilities for good; where seccomp is supported, forbid all but harmless system calls too.

    Args:
        uses_gpu: allow this process to talk to a GPU. It has no PID namespace of its own then, so it could see other
            processes: it may send signals only to itself.

    Raises:
        OSError: the kernel refused it.
    """
    libc = _libc()
    _raise_if_failed("ambient capabilities", libc.prctl(_PR_CAP_AMBIENT, _PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0))
    header = struct.pack("Ii", _CAPABILITY_VERSION_3, 0)
    _raise_if_failed("capset", libc.capset(header, _NO_CAPABILITIES))
    if seccomp.is_supported():  # elsewhere, the server counts processes, so that a fork bomb ends
        seccomp.install_filter(uses_gpu=uses_gpu)


def die_with_parent(lifeline: int) -> None:
    """Have the kernel kill this process when its parent ends; end this process now if the parent has ended already.

    Do nothing if this is not Linux. The kernel tells nothing of a parent that ended before this call, and the first
    process of a PID namespace cannot ask for its parent's id. So the parent shows that it lives by an open pipe.

    Args:
        lifeline: the read end of a pipe whose write end only the parent holds. The parent writes nothing.

    Raises:
        OSError: the kernel refused it.
    """
    if sys.platform == "linux":
        _raise_if_failed("prctl", _libc().prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0))
        poll = select.poll()
        poll.register(lifeline, 0)  # without events to wait for, it reports only that the write end is closed
        if poll.poll(0):
            os._exit(1)


def exit_on_hangup(fd: int) -> None:
    """End this process soon after the other end of the socket `fd` is closed, or at once if it is closed already.

    Do nothing if this is not Linux. It is for the server while it starts: it imports torch, and for seconds does not
    read its control socket. If the grader were killed meanwhile, the server would go on until it reads. Once it is
    warm, it notices the closed socket itself.
    """
    if not hasattr(select, "POLLRDHUP"):
        return

    def exit_if_closed(_number: int, _frame: Any) -> None:
        poll = select.poll()
        poll.register(fd, select.POLLRDHUP)
        if poll.poll(0):
            os._exit(0)

    signal.signal(signal.SIGIO, exit_if_closed)
    # The signal also comes when data arrives. Then system calls that it interrupts must go on, not fail.
    signal.siginterrupt(signal.SIGIO, False)
    fcntl.fcntl(fd, fcntl.F_SETOWN, os.getpid())
    fcntl.fcntl(fd, fcntl.F_SETFL, fcntl.fcntl(fd, fcntl.F_GETFL) | os.O_ASYNC)
    exit_if_closed(signal.SIGIO, None)  # if it was closed before, no signal comes


def stop_exiting_on_hangup(fd: int) -> None:
    """Undo `exit_on_hangup`, for a server that from now on reads the socket itself."""
    if hasattr(select, "POLLRDHUP"):
        # First make the socket send no more signals: the default action of SIGIO ends the process.
        fcntl.fcntl(fd, fcntl.F_SETFL, fcntl.fcntl(fd, fcntl.F_GETFL) & ~os.O_ASYNC)
        signal.signal(signal.SIGIO, signal.SIG_DFL)


def max_threads() -> int:
    """Return how many threads a child may have.

    There must be a limit, because no resource limit counts the kernel memory that threads take. The limit grows with
    the number of cores, because libraries such as BLAS start a thread for each core: four such libraries fit, and 64
    threads of the submission's own.
    """
    return 64 + 4 * (os.cpu_count() or 1)


def process_status(process: int | str) -> dict[str, int]:
    """Return the numbers in /proc/PROCESS/status; empty if the process is gone or there is no /proc.

    Sizes such as `VmRSS` (the memory that a process occupies) are in bytes, others such as `Threads` as they are.

    Args:
        process: id of the process, or `self`.
    """
    numbers = {}
    try:
        # Latin-1, and only "\n" ends a line: a submission may give its thread any bytes as a name.
        text = Path(f"/proc/{process}/status").read_text(encoding="latin-1")
    except OSError:
        return {}
    for line in text.split("\n"):
        key, _, value = line.partition(":")
        words = value.split()
        if words and words[0].isdecimal():
            numbers[key] = int(words[0]) * (1024 if words[-1] == "kB" else 1)
    return numbers


def used_cpu_seconds(process: int) -> float:
    """Return the processor time of all threads of a process so far; 0.0 if it is gone, or there is no /proc."""
    try:
        # Field 2, the program's name in parentheses, may hold any bytes, so split only what comes after it.
        fields = Path(f"/proc/{process}/stat").read_text(encoding="latin-1").rpartition(")")[2].split()
    except OSError:
        return 0.0
    user, system = fields[11:13]  # fields 14 and 15 of the line, because `fields` begins with field 3
    return (int(user) + int(system)) / os.sysconf("SC_CLK_TCK")


def self_test() -> None:
    """Isolate a forked process by the four steps above, as on a machine without a GPU.

    Call it in a process of its own, because it changes this process's namespaces for good.

    Raises:
        OSError: a step failed.
    """
    bounds = Bounds(memory_bytes=2**28, cpu_seconds=5)
    create_namespaces()
    read_end, write_end = os.pipe()
    child = os.fork()
    if child == 0:
        problem = ""
        try:
            set_limits(bounds, limit_address_space=True)
            replace_tmp_and_proc(bounds)
            drop_rights()
            Path("/tmp/test").write_text("")
        except Exception as error:
            problem = str(error)
        os.write(write_end, problem.encode())
        os._exit(0)
    os.close(write_end)
    with os.fdopen(read_end) as pipe:
        problem = pipe.read()
    _, status = os.waitpid(child, 0)
    if problem or status:
        raise OSError(problem or f"the child ended with status {status}")


def _libc() -> ctypes.CDLL:
    """Return the C library, for system calls that Python does not offer."""
    return ctypes.CDLL(None, use_errno=True)


def _raise_if_failed(action: str, result: int) -> None:
    """Raise OSError if a system call failed.

    Args:
        action: what was tried, for the message.
        result: what the call returned; anything but 0 means that it failed and set errno.

    Raises:
        OSError: it failed.
    """
    if result != 0:
        number = ctypes.get_errno()
        raise OSError(number, f"{action}: {os.strerror(number)}")


def _set_limit(kind: int, value: int) -> None:
    """Set a resource limit, soft and hard, to `value`, or to the existing hard limit if that is lower."""
    _, hard = resource.getrlimit(kind)
    if hard != resource.RLIM_INFINITY:
        value = min(value, hard)
    resource.setrlimit(kind, (value, value))
