"""Serve inside the sandbox: import and warm torch once, then fork a child for each submission.

`grader.sandbox.server_process` starts it, and `grader.sandbox.client` talks to it and its children from outside.

    grader ── control ──▶ server (this process; never runs a submission, never sees its text or its trace)
      │                      └─ keeper (creates the namespaces, waits for the child's end)
      └──── channel ────────────▶ child (first process of its own PID namespace; plays the exercises)

Program texts and traces go over a channel of the child's own, so that nothing of one submission is in the memory from
which the next child is forked.
"""

import gc
import importlib
import math
import os
import pkgutil
import select
import signal
import socket
import struct
import sys
import traceback
import types
from contextlib import suppress
from typing import Any, NoReturn

from grader.sandbox.inside import frames, isolation
from grader.sandbox.inside.child import Prepared, become_child
from grader.sandbox.inside.dispatcher import refuse_kernels
from grader.sandbox.inside.frames import Setting
from grader.sandbox.inside.isolation import Bounds
from grader.sandbox.inside.originals import Originals
from grader.sandbox.inside.unpack import Modules

CONTROL_FD = 0
"""Descriptor of the server's control socket."""

_WATCH_SECONDS = 0.05
"""Time between two checks of a child's memory and threads."""
_PID_RECORD = struct.Struct("i")
"""What the keeper reports first: the child's process id."""
_END_RECORD = struct.Struct("id")
"""What the keeper reports last: the child's wait status, and the processor seconds that it used."""
_MEMORY_MARGIN = 1.2
"""Factor by which a child may exceed its memory limit before the server kills it. So the resource limits, which raise a
MemoryError in the submission, come first where they apply."""
_MAX_PROCESSES = 12
"""Maximum number of processes in the sandbox. Bubblewrap's first process, server, keeper and child make 4; where
seccomp works, there are never more."""


def main() -> None:
    """Serve until the control socket is closed."""
    control = socket.socket(fileno=os.dup(CONTROL_FD))
    header, _, _ = frames.receive(control)
    setting = Setting(**header)
    prepared = _warm(setting)
    isolation.stop_exiting_on_hangup(CONTROL_FD)
    os.dup2(os.open(os.devnull, os.O_RDONLY), CONTROL_FD)  # becomes the children's standard input
    frames.send(control, {"event": "ready"})
    while True:
        try:
            header, _, fds = frames.receive(control, max_fds=2)
            if header["op"] == "fork":
                _supervise(control, setting, prepared, Bounds(**header["bounds"]), fds)
            # A "kill" or "question" that arrives here came too late: its child had ended by itself.
        except EOFError:
            return


def _warm(setting: Setting) -> Prepared:
    """Import everything a child will need, so that a fork costs milliseconds.

    Nothing may be done that initializes CUDA or starts threads, because a forked child could then not do it any more.
    Where a GPU is visible, that excludes a backward pass, even on the CPU
    (https://github.com/pytorch/pytorch/wiki/Autograd-and-Fork), and in torch 2.13 a step of Adam, which asks for CUDA's
    stream. Leaving them out costs each child half a millisecond.
    """
    gc.disable()  # imported objects are never garbage, and searching them again and again takes a fifth of the time
    import torch

    from grader.sandbox.inside.compiler_stand_in import leave_the_compiler_out

    torch.set_num_threads(1)  # a forked child would wait for ever for worker threads that only its parent has
    leave_the_compiler_out()
    model = torch.nn.Linear(2, 1)
    torch.optim.AdamW(model.parameters())
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    model(torch.ones(1, 2))
    for parameter in model.parameters():
        parameter.grad = torch.zeros_like(parameter)
    optimizer.step()

    import grader.observe
    from grader.observe import trace

    for module in pkgutil.iter_modules(grader.observe.__path__, "grader.observe."):
        importlib.import_module(module.name)
    trace.to_bytes(trace.Trace())
    _stand_in_for_lessons()
    for name in setting.imports:
        with suppress(ImportError):
            importlib.import_module(name)
    refuse_kernels()
    originals = Originals()
    originals.keep_libraries()
    modules = Modules()
    gc.freeze()  # a child's collector must not touch, and so copy, every page of torch
    gc.enable()
    gc.set_threshold(20_000)  # same as in `grader.grading.warm`, which is not in the sandbox
    return Prepared(modules, originals)


def _stand_in_for_lessons() -> None:
    """Make everything that lessons import from `grader` (`check`, `predict`, `plots`, `paths`) do nothing.

    Graded functions do not need it, but the imports must not fail.
    """
    import grader

    def nothing(*_args: Any, **_kwargs: Any) -> None:
        return None

    def lookup(name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return nothing

    for name in ("plots", "paths"):  # `paths`: the solution's notebooks use it to store their measurements
        module = types.ModuleType(f"grader.{name}")
        module.__getattr__ = lookup  # type: ignore[method-assign]
        sys.modules[module.__name__] = module
        setattr(grader, name, module)
    vars(grader).update(dict.fromkeys(grader.__all__, nothing))


# ---- the server: one child at a time -------------------------------------------------------------


def _supervise(
    control: socket.socket, setting: Setting, prepared: Prepared, bounds: Bounds, fds: list[int]
) -> None:
    """Fork a child, watch it, kill it when told to, and report how it ended.

    Raises:
        EOFError: the grader has closed the control socket.
    """
    reading, writing = os.pipe()
    server, keeper = os.getpid(), os.fork()
    if keeper == 0:
        control.close()  # otherwise the grader would not notice the server's end while a keeper lives
        os.close(reading)
        _run_keeper(setting, prepared, bounds, server=server, channel=fds[0], output=fds[1], report=writing)
    os.close(writing)
    for fd in fds:
        os.close(fd)
    child = _read_record(reading, _PID_RECORD)
    reason = None
    try:
        if child is not None:
            reason = _watch(control, reading, child[0], bounds, setting)
    finally:
        if child is not None:
            _kill(child[0])
        end = _read_record(reading, _END_RECORD)
        os.close(reading)
        os.waitpid(keeper, 0)
    status, cpu = (None, 0.0) if end is None else end
    frames.send(control, {"event": "gone", "reason": reason, "status": status, "cpu": cpu})


def _watch(control: socket.socket, reading: int, child: int, bounds: Bounds, setting: Setting) -> str | None:
    """Wait until the child ends, is to be killed, or exceeds a limit.

    Returns:
        The reason why the child must be killed (`kill`, `time`, `memory`, `threads` or `processes`); None if it ended
        by itself.

    Raises:
        EOFError: the grader has closed the control socket.
    """
    at_start = isolation.process_status(child).get("VmRSS", 0)
    cpu_limit = math.inf
    while True:
        ready, _, _ = select.select([control.fileno(), reading], [], [], _WATCH_SECONDS)
        if control.fileno() in ready:
            header, _, _ = frames.receive(control)
            if header["op"] == "kill":
                return "kill"
            cpu_limit = isolation.processor_seconds(child) + header["cpu_seconds"]  # a new question begins
        if reading in ready:
            return None
        if isolation.processor_seconds(child) > cpu_limit:
            return "time"
        status = isolation.process_status(child)
        # This also covers what no resource limit counts under CUDA, such as shared mappings.
        if status.get("VmRSS", 0) > at_start + _MEMORY_MARGIN * bounds.memory_bytes:
            return "memory"
        if status.get("Threads", 1) > isolation.max_threads():
            return "threads"
        if setting.isolate and sum(name.isdigit() for name in os.listdir("/proc")) > _MAX_PROCESSES:
            return "processes"


def _kill(child: int) -> None:
    """Kill the child and its process group; inside a PID namespace, all other processes in it die with the child."""
    for kill in (os.killpg, os.kill):
        try:
            kill(child, signal.SIGKILL)
        except (ProcessLookupError, PermissionError):  # it is gone already, or does not lead a group yet
            continue


def _read_record(pipe: int, record: struct.Struct) -> tuple[Any, ...] | None:
    """Read one record from a pipe; None if the writer has ended without writing it."""
    data = os.read(pipe, record.size)
    return record.unpack(data) if len(data) == record.size else None


# ---- the keeper: outside the new PID namespace, so that it can tell how the child ended ------------
# This extra fork takes 6 ms of a submission's 150, but the server cannot do without it: a process that has unshared its
# PID namespace can do so again only after a `setns` back to the former one, which `--disable-userns` denies the server.


def _run_keeper(
    setting: Setting,
    prepared: Prepared,
    bounds: Bounds,
    *,
    server: int,
    channel: int,
    output: int,
    report: int,
) -> NoReturn:
    """Run as the keeper: fork the child in new namespaces, and report its id and its end through the pipe `report`."""
    try:
        os.setsid()
        isolation.die_with_parent(server)
        if setting.isolate:
            isolation.new_namespaces()
        child = os.fork()
        if child == 0:
            become_child(setting, prepared, bounds, channel, output)
        os.write(report, _PID_RECORD.pack(child))
        os.close(channel)
        os.close(output)
        _, status, usage = os.wait4(child, 0)
        os.write(report, _END_RECORD.pack(status, usage.ru_utime + usage.ru_stime))
    except BaseException:
        traceback.print_exc()
    finally:
        os._exit(0)
