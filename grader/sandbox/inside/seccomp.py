"""The system calls a submission may not make: a BPF filter written by hand; `isolation` installs it."""

import ctypes
import errno
import os
import platform
import struct

# Why each is refused; everything else is allowed, since torch and Python need a great many.
_REFUSED = (
    # Processes and programs. No resource limit stops a fork bomb of root: RLIMIT_NPROC does not apply to root.
    # Threads stay allowed (see `_CLONE_THREAD`).
    ("fork", 57, None),
    ("vfork", 58, None),
    ("execve", 59, 221),
    ("execveat", 322, 281),
    # Network, beside the empty network namespace. socketpair() stays: asyncio needs it.
    ("socket", 41, 198),
    # Memory that neither RLIMIT_DATA nor RLIMIT_AS counts as long as it is not mapped.
    ("memfd_create", 319, 279),
    ("memfd_secret", 447, 447),
    ("shmget", 29, 194),
    ("msgget", 68, 186),
    ("semget", 64, 190),
    ("mq_open", 240, 180),
    # Other processes.
    ("ptrace", 101, 117),
    ("process_vm_readv", 310, 270),
    ("process_vm_writev", 311, 271),
    ("pidfd_open", 434, 434),
    ("pidfd_getfd", 438, 438),
    ("kcmp", 312, 272),
    # Namespaces and mounts: what is masked stays masked, and a new user namespace gives no capabilities.
    ("unshare", 272, 97),
    ("setns", 308, 268),
    ("mount", 165, 40),
    ("umount2", 166, 39),
    ("pivot_root", 155, 41),
    ("chroot", 161, 51),
    ("open_tree", 428, 428),
    ("move_mount", 429, 429),
    ("fsopen", 430, 430),
    ("fsconfig", 431, 431),
    ("fsmount", 432, 432),
    ("fspick", 433, 433),
    ("mount_setattr", 442, 442),
    # Large parts of the kernel in which faults were found again and again, and which no lesson needs.
    ("bpf", 321, 280),
    ("perf_event_open", 298, 241),
    ("userfaultfd", 323, 282),
    ("io_uring_setup", 425, 425),
    ("io_uring_enter", 426, 426),
    ("io_uring_register", 427, 427),
    ("add_key", 248, 217),
    ("request_key", 249, 218),
    ("keyctl", 250, 219),
    ("personality", 135, 92),
)
"""Name, number on x86_64, number on aarch64."""

_CLONE_THREAD = 0x00010000
# Machine: (AUDIT_ARCH, column of _REFUSED, number of clone, number of seccomp)
_MACHINES = {"x86_64": (0xC000003E, 1, 56, 317), "aarch64": (0xC00000B7, 2, 220, 277)}
_CLONE3 = 435
_X32_BIT = 0x40000000

# <linux/bpf_common.h>, <linux/seccomp.h>, <linux/prctl.h>
_LOAD, _JUMP_EQUAL, _JUMP_GREATER_EQUAL, _JUMP_SET, _RETURN = 0x20, 0x15, 0x35, 0x45, 0x06
_ALLOW, _KILL_PROCESS, _ERRNO = 0x7FFF0000, 0x80000000, 0x00050000
_NUMBER_AT, _ARCH_AT, _FIRST_ARGUMENT_AT = 0, 4, 16
_SET_MODE_FILTER, _FLAG_TSYNC = 1, 1
_PR_SET_NO_NEW_PRIVS = 38


def supported() -> bool:
    """Whether there is a table for this machine."""
    return platform.machine() in _MACHINES


def install() -> None:
    """Put the filter on every thread of this process, for good.

    Raises:
        OSError: the kernel refused it.
    """
    instructions = _program(platform.machine())
    code = ctypes.create_string_buffer(b"".join(instructions))
    program = struct.pack("HxxxxxxP", len(instructions), ctypes.addressof(code))
    libc = ctypes.CDLL(None, use_errno=True)
    seccomp = _MACHINES[platform.machine()][3]
    if libc.prctl(_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) or libc.syscall(
        seccomp, _SET_MODE_FILTER, _FLAG_TSYNC, program
    ):
        raise OSError(ctypes.get_errno(), f"seccomp: {os.strerror(ctypes.get_errno())}")


def _program(machine: str) -> list[bytes]:
    arch, column, clone, _ = _MACHINES[machine]
    refuse = _instruction(_RETURN, _ERRNO | errno.EPERM)
    lines = [
        _instruction(_LOAD, _ARCH_AT),
        _instruction(_JUMP_EQUAL, arch, 1, 0),
        _instruction(_RETURN, _KILL_PROCESS),  # 32-bit calls have other numbers
        _instruction(_LOAD, _NUMBER_AT),
        _instruction(_JUMP_GREATER_EQUAL, _X32_BIT, 0, 1),
        refuse,
        # ENOSYS sends glibc back to clone, whose flags a filter can see (clone3 hands over a pointer).
        _instruction(_JUMP_EQUAL, _CLONE3, 0, 1),
        _instruction(_RETURN, _ERRNO | errno.ENOSYS),
    ]
    for entry in _REFUSED:
        number = entry[column]
        if isinstance(number, int):
            lines += [_instruction(_JUMP_EQUAL, number, 0, 1), refuse]
    return [
        *lines,
        _instruction(_JUMP_EQUAL, clone, 0, 3),
        _instruction(_LOAD, _FIRST_ARGUMENT_AT),
        _instruction(_JUMP_SET, _CLONE_THREAD, 1, 0),
        refuse,
        _instruction(_RETURN, _ALLOW),
    ]


def _instruction(code: int, operand: int, if_true: int = 0, if_false: int = 0) -> bytes:
    return struct.pack("HBBI", code, if_true, if_false, operand)
