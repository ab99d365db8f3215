"""Build and install the BPF filter (seccomp) that allows only the system calls listed in `system_calls`.

The filter is assembled by hand: a list of instructions that load a field of the call, compare it, and jump. A call that
no instruction allows fails with EPERM.
"""

import ctypes
import errno
import os
import platform
import struct
from collections.abc import Sequence
from typing import NamedTuple

from grader.sandbox.inside.system_calls import (
    ALLOWED,
    FCNTL,
    IOCTL,
    IOCTL_OF_OWNERS,
    ON_A_PROCESS,
    PRCTL,
)

_CLONE_THREAD = 0x00010000


class _Machine(NamedTuple):
    """What differs between kinds of processors."""

    audit_arch: int
    """AUDIT_ARCH constant, by which the kernel names the kind of a call."""
    column: int
    """Column of `ALLOWED` with the numbers of its calls."""
    clone: int
    """Number of the call `clone`, and so on."""
    fcntl: int
    ioctl: int
    prctl: int
    seccomp: int


_MACHINES = {
    "x86_64": _Machine(0xC000003E, 1, clone=56, fcntl=72, ioctl=16, prctl=157, seccomp=317),
    "aarch64": _Machine(0xC00000B7, 2, clone=220, fcntl=25, ioctl=29, prctl=167, seccomp=277),
}
"""Machines on which the filter works, as `platform.machine` names them."""
_CLONE3 = 435  # on both machines
_X32_BIT = 0x40000000
"""Bit in the numbers of calls of the x32 ABI; the same number without the bit means another call."""

# <linux/bpf_common.h>, <linux/seccomp.h>, <linux/prctl.h>
_LOAD, _JUMP_EQUAL, _JUMP_GREATER_EQUAL, _JUMP_SET, _RETURN = 0x20, 0x15, 0x35, 0x45, 0x06
_ALLOW, _KILL_PROCESS, _ERRNO = 0x7FFF0000, 0x80000000, 0x00050000
_NUMBER_AT, _ARCH_AT, _FIRST_ARGUMENT_AT, _SECOND_ARGUMENT_AT = 0, 4, 16, 24
_SET_MODE_FILTER, _FLAG_TSYNC = 1, 1
_PR_SET_NO_NEW_PRIVS = 38


def supported() -> bool:
    """Return True if the numbers of this machine's system calls are known."""
    return platform.machine() in _MACHINES


def install(*, drives_devices: bool = False) -> None:
    """Apply the filter to every thread of this process, irrevocably.

    Args:
        drives_devices: allow any `ioctl` but `IOCTL_OF_OWNERS`, which is how a process talks to a GPU, and the calls
            `ON_A_PROCESS` only on this process, because it has no PID namespace of its own.

    Raises:
        OSError: the kernel refused it.
    """
    machine = _MACHINES[platform.machine()]
    instructions = _filter_for(machine, drives_devices=drives_devices)
    code = ctypes.create_string_buffer(b"".join(instructions))
    program = struct.pack("HxxxxxxP", len(instructions), ctypes.addressof(code))
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.prctl(_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) or libc.syscall(
        machine.seccomp, _SET_MODE_FILTER, _FLAG_TSYNC, program
    ):
        raise OSError(ctypes.get_errno(), f"seccomp: {os.strerror(ctypes.get_errno())}")


def _filter_for(machine: _Machine, *, drives_devices: bool) -> list[bytes]:
    """Return the instructions of the filter for a machine; see `install`."""
    allow, refuse = _instruction(_RETURN, _ALLOW), _instruction(_RETURN, _ERRNO | errno.EPERM)
    lines = [
        _instruction(_LOAD, _ARCH_AT),
        _instruction(_JUMP_EQUAL, machine.audit_arch, 1, 0),
        _instruction(_RETURN, _KILL_PROCESS),  # a 32-bit call, whose number means something else
        _instruction(_LOAD, _NUMBER_AT),
        _instruction(_JUMP_GREATER_EQUAL, _X32_BIT, 0, 1),
        refuse,
        # ENOSYS makes glibc fall back to clone, whose flags a filter can see (clone3 passes a pointer to them).
        _instruction(_JUMP_EQUAL, _CLONE3, 0, 1),
        _instruction(_RETURN, _ERRNO | errno.ENOSYS),
    ]
    allowed = {entry[0]: number for entry in ALLOWED if isinstance(number := entry[machine.column], int)}
    if drives_devices:
        refused = [
            instruction
            for request in IOCTL_OF_OWNERS
            for instruction in (_instruction(_JUMP_EQUAL, request, 0, 1), refuse)
        ]
        lines += _for_call(machine.ioctl, [_instruction(_LOAD, _SECOND_ARGUMENT_AT), *refused, allow])
        for name in ON_A_PROCESS:
            lines += _for_call(allowed.pop(name), _allow_if(_FIRST_ARGUMENT_AT, (0, os.getpid())))
    for number in allowed.values():
        lines += [_instruction(_JUMP_EQUAL, number, 0, 1), allow]
    # The kernel uses only the low 32 bits of these arguments, and a load reads only these.
    lines += _for_call(
        machine.clone,
        [_instruction(_LOAD, _FIRST_ARGUMENT_AT), _instruction(_JUMP_SET, _CLONE_THREAD, 0, 1), allow],
    )
    for number, argument, values in (
        (machine.fcntl, _SECOND_ARGUMENT_AT, FCNTL),
        (machine.ioctl, _SECOND_ARGUMENT_AT, IOCTL),
        (machine.prctl, _FIRST_ARGUMENT_AT, PRCTL),
    ):
        lines += _for_call(number, _allow_if(argument, values))
    return [*lines, refuse]


def _allow_if(argument: int, values: Sequence[int]) -> list[bytes]:
    """Return instructions that allow the call if the argument at this offset has one of these values."""
    lines = [_instruction(_LOAD, argument)]
    for value in values:
        lines += [_instruction(_JUMP_EQUAL, value, 0, 1), _instruction(_RETURN, _ALLOW)]
    return lines


def _for_call(number: int, lines: list[bytes]) -> list[bytes]:
    """Return instructions that apply `lines` to the call with this number, and refuse what they do not allow."""
    lines = [*lines, _instruction(_RETURN, _ERRNO | errno.EPERM)]
    return [_instruction(_JUMP_EQUAL, number, 0, len(lines)), *lines]


def _instruction(code: int, operand: int, if_true: int = 0, if_false: int = 0) -> bytes:
    """Return one BPF instruction; the jumps say how many instructions to skip."""
    return struct.pack("HBBI", code, if_true, if_false, operand)
