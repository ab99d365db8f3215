"""Build and install the filter (seccomp) that allows only the system calls listed in `system_calls`.

The filter is a BPF program, which the kernel runs for each system call of the process. Its instructions load a field of
the call, compare it, and jump, until one returns the verdict. To allow `read`, which has the number 0 on x86_64:

    load NUMBER_AT                  the number of the call
    jump_equal 0: +0, else +1       if it is 0, go on with the next instruction; else skip one
    return ALLOW

A call that no instruction allows fails with EPERM, but `clone3` with ENOSYS, and a call for another kind of processor
kills the process (`_check_kind_of_call` says why).

`isolation.py drop_rights` installs the filter in each child. To allow or to forbid a call, change the lists in
`system_calls.py`. To support another kind of processor, add it to `_MACHINES`, and a column to `ALLOWED_CALLS`.
"""

import ctypes
import errno
import os
import platform
import struct
from collections.abc import Sequence
from typing import NamedTuple

from grader.sandbox.inside.system_calls import (
    ALLOWED_CALLS,
    ALLOWED_FCNTL_COMMANDS,
    ALLOWED_IOCTL_REQUESTS,
    ALLOWED_PRCTL_OPTIONS,
    ONLY_ON_ITSELF_WITH_GPU,
    REFUSED_IOCTL_REQUESTS_WITH_GPU,
)

_CLONE_THREAD = 0x00010000  # <linux/sched.h>: the flag of `clone` that makes a thread, not a process


class _Machine(NamedTuple):
    """Numbers of a kind of processor; the last five are those of system calls."""

    audit_arch: int
    """AUDIT_ARCH constant, by which the kernel says for which kind of processor a call was made."""
    column: int
    """Index of the numbers for this machine in the entries of `ALLOWED_CALLS`."""
    clone: int
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
"""Bit in the numbers of calls of the x32 ABI (32-bit pointers on x86_64), which nothing here uses."""

# <linux/bpf_common.h>, <linux/seccomp.h>, <linux/prctl.h>
_LOAD, _JUMP_EQUAL, _JUMP_GREATER_EQUAL, _JUMP_SET, _RETURN = 0x20, 0x15, 0x35, 0x45, 0x06
_ALLOW, _KILL_PROCESS, _ERRNO = 0x7FFF0000, 0x80000000, 0x00050000
# Offsets in `struct seccomp_data`, which describes the call.
_NUMBER_AT, _ARCH_AT, _FIRST_ARGUMENT_AT, _SECOND_ARGUMENT_AT = 0, 4, 16, 24
_SET_MODE_FILTER, _FLAG_TSYNC = 1, 1
_PR_SET_NO_NEW_PRIVS = 38


def is_supported() -> bool:
    """Return True if the filter works on this machine: the numbers of its system calls are known."""
    return platform.machine() in _MACHINES


def install_filter(*, uses_gpu: bool = False) -> None:
    """Apply the filter to every thread of this process, irrevocably.

    Args:
        uses_gpu: True for a process that talks to a GPU, which it does by `ioctl`, and that has no PID namespace of its
            own. So allow every `ioctl` but `REFUSED_IOCTL_REQUESTS_WITH_GPU`, and the calls in
            `ONLY_ON_ITSELF_WITH_GPU` only on itself.

    Raises:
        OSError: the kernel refused it.
    """
    machine = _MACHINES[platform.machine()]
    instructions = _filter_for(machine, uses_gpu=uses_gpu)
    code = ctypes.create_string_buffer(b"".join(instructions))
    program = struct.pack("HxxxxxxP", len(instructions), ctypes.addressof(code))
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.prctl(_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) or libc.syscall(
        machine.seccomp, _SET_MODE_FILTER, _FLAG_TSYNC, program
    ):
        raise OSError(ctypes.get_errno(), f"seccomp: {os.strerror(ctypes.get_errno())}")


def _filter_for(machine: _Machine, *, uses_gpu: bool) -> list[bytes]:
    """Return the instructions of the filter for a machine; see `install_filter`."""
    instructions = _check_kind_of_call(machine)
    allowed = {
        entry[0]: number for entry in ALLOWED_CALLS if isinstance(number := entry[machine.column], int)
    }
    if uses_gpu:
        # Before the rules below: the first rule for a call decides.
        instructions += _rule(
            machine.ioctl, _allow_unless_argument_in(_SECOND_ARGUMENT_AT, REFUSED_IOCTL_REQUESTS_WITH_GPU)
        )
        for name in ONLY_ON_ITSELF_WITH_GPU:
            own_process = (0, os.getpid())
            instructions += _rule(allowed.pop(name), _allow_if_argument_in(_FIRST_ARGUMENT_AT, own_process))
    for number in allowed.values():
        instructions += [_instruction(_JUMP_EQUAL, number, 0, 1), _allow()]
    instructions += _rule(
        machine.clone,
        [_instruction(_LOAD, _FIRST_ARGUMENT_AT), _instruction(_JUMP_SET, _CLONE_THREAD, 0, 1), _allow()],
    )
    for number, offset, values in (
        (machine.fcntl, _SECOND_ARGUMENT_AT, ALLOWED_FCNTL_COMMANDS),
        (machine.ioctl, _SECOND_ARGUMENT_AT, ALLOWED_IOCTL_REQUESTS),
        (machine.prctl, _FIRST_ARGUMENT_AT, ALLOWED_PRCTL_OPTIONS),
    ):
        instructions += _rule(number, _allow_if_argument_in(offset, values))
    return [*instructions, _refuse()]


def _check_kind_of_call(machine: _Machine) -> list[bytes]:
    """Return the first instructions of the filter. They leave the number of the call loaded, for `_rule`.

    They refuse what the lists cannot judge: calls whose numbers mean something else than on `machine`, and `clone3`.
    """
    return [
        _instruction(_LOAD, _ARCH_AT),
        _instruction(_JUMP_EQUAL, machine.audit_arch, 1, 0),
        _instruction(_RETURN, _KILL_PROCESS),  # for example a 32-bit call on a 64-bit machine
        _instruction(_LOAD, _NUMBER_AT),
        _instruction(_JUMP_GREATER_EQUAL, _X32_BIT, 0, 1),
        _refuse(),
        # `clone3` passes its flags by a pointer, which a filter cannot follow. ENOSYS makes glibc use `clone` instead.
        _instruction(_JUMP_EQUAL, _CLONE3, 0, 1),
        _instruction(_RETURN, _ERRNO | errno.ENOSYS),
    ]


def _rule(number: int, instructions: list[bytes]) -> list[bytes]:
    """Return instructions that decide on the call with this number, and let other calls pass to the next rule.

    Args:
        number: number of the call.
        instructions: they allow the call, or end without a verdict; then it is refused.
    """
    instructions = [*instructions, _refuse()]
    return [_instruction(_JUMP_EQUAL, number, 0, len(instructions)), *instructions]


# The kernel uses only the low 32 bits of the arguments that are compared here, and a load reads only these.


def _allow_if_argument_in(offset: int, values: Sequence[int]) -> list[bytes]:
    """Return instructions that allow the call if the argument at this offset has one of these values."""
    instructions = [_instruction(_LOAD, offset)]
    for value in values:
        instructions += [_instruction(_JUMP_EQUAL, value, 0, 1), _allow()]
    return instructions


def _allow_unless_argument_in(offset: int, values: Sequence[int]) -> list[bytes]:
    """Return instructions that allow the call unless the argument at this offset has one of these values."""
    instructions = [_instruction(_LOAD, offset)]
    for value in values:
        instructions += [_instruction(_JUMP_EQUAL, value, 0, 1), _refuse()]
    return [*instructions, _allow()]


def _allow() -> bytes:
    """Return the instruction that allows the call."""
    return _instruction(_RETURN, _ALLOW)


def _refuse() -> bytes:
    """Return the instruction that makes the call fail with EPERM."""
    return _instruction(_RETURN, _ERRNO | errno.EPERM)


def _instruction(code: int, operand: int, if_true: int = 0, if_false: int = 0) -> bytes:
    """Return one BPF instruction.

    Args:
        code: what to do, such as `_LOAD`.
        operand: what to load, compare with or return.
        if_true: for a jump, the number of instructions to skip if the comparison holds.
        if_false: the same if it does not hold.
    """
    return struct.pack("HBBI", code, if_true, if_false, operand)
