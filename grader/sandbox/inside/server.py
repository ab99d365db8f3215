"""Serve inside the sandbox: import and warm torch once, then have a child forked for each submission.

`grader.sandbox.server_process` starts the server; `grader.sandbox.client` talks to it and its children from outside.

    grader ── control ──▶ server (this process; never runs a submission, never sees its text or its trace)
      │                      └─ keeper (forked by the server; creates the namespaces, reports the child's end)
      └──── channel ────────────▶ child (forked by the keeper; first process of its own PID namespace; plays exercises)

Program texts and traces go over a channel of the child's own, so that nothing of one submission is in the memory from
which the next child is forked.

On the control socket, the grader first sends the `Setting`, and the server answers with the event `ready`. Then, for
one child after the other, the grader sends
    fork: with the child's `bounds`, and two descriptors: its channel and its output;
    question: before it asks the child something, with the `cpu_seconds` that the child may use from now on;
    kill: if the child is to end.
The server answers with one event `gone`, when the child has ended: with the `reason` for which the server killed it
(see `_watch`), the wait `status` (None if the keeper did not report it), and the `cpu` seconds used.
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
from grader.sandbox.inside.hidden_modules import HiddenModules
from grader.sandbox.inside.isolation import Bounds
from grader.sandbox.inside.originals import Originals

CONTROL_FD = 0
"""Descriptor of the server's control socket."""

_WATCH_SECONDS = 0.05
"""Time between two checks of a child's memory and threads."""
_PID_RECORD = struct.Struct("i")
"""What the keeper reports first: the child's process id, an int."""
_END_RECORD = struct.Struct("i d")
"""What the keeper reports last: the child's wait status, an int, and the processor seconds that it used, a double."""
_MEMORY_MARGIN = 1.2
"""Factor by which a child may exceed its memory limit before the server kills it. So the resource limits, which raise a
MemoryError in the submission, come first where they apply."""
_MAX_PROCESSES = 12
"""Maximum number of processes in the sandbox: it stops a fork bomb on machines for which there is no seccomp filter.

Bubblewrap's first process, server, keeper and child make 4. With the filter, which refuses forks, there are never more;
without it, the other 8 are for helpers that libraries start."""


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
            # A `kill` or `question` that arrives here came too late: its child had ended by itself.
        except EOFError:
            return


def _warm(setting: Setting) -> Prepared:
    """Import and use once everything that a child will need, so that the child itself takes milliseconds.

    Nothing here may initialize CUDA or start threads, because a child forked afterwards could do neither. So nothing
    here runs a backward pass, which starts threads where a GPU is visible, even on the CPU
    (https://github.com/pytorch/pytorch/wiki/Autograd-and-Fork), or a step of Adam, which in torch 2.13 asks for CUDA's
    stream. Each child does these for the first time itself, which takes it half a millisecond.
    """
    gc.disable()  # imported objects are never garbage: searching them again and again was a fifth of the warming time
    import torch

    from grader.sandbox.inside.compiler_stand_in import leave_the_compiler_out

    torch.set_num_threads(1)  # a forked child would wait for ever for worker threads that only its parent has
    leave_the_compiler_out()
    model = torch.nn.Linear(2, 1)
    torch.optim.AdamW(model.parameters())  # only constructed: a step would ask for CUDA's stream
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
    _silence_notebook_functions()
    for name in setting.imports:
        with suppress(ImportError):
            importlib.import_module(name)
    if setting.device != "cpu":
        _register_kernels_of_cuda()
    refuse_kernels()
    originals = Originals()
    originals.keep_libraries()
    modules = HiddenModules()
    gc.freeze()  # a child's collector must not touch, and so copy, every page of torch
    gc.enable()
    gc.set_threshold(20_000)  # same as in `grader.grading.warm`, which is not in the sandbox
    return Prepared(modules, originals)


def _register_kernels_of_cuda() -> None:
    """Register what torch otherwise registers when a child starts CUDA: `refuse_kernels` would refuse it there.

    These are kernels of sparse matrices, in Triton; torch registers them only where Triton is installed, and only once.
    """
    import torch

    register = getattr(torch.cuda, "_register_triton_kernels", None)  # not part of torch's public interface
    if register is not None:
        register()


def _silence_notebook_functions() -> None:
    """Make everything that notebooks import from `grader` (`check`, `predict`, `plots`, `paths`) do nothing.

    A submission is a whole notebook. Its graded functions do not need these, but the imports must not fail.
    """
    import grader

    def nothing(*_args: Any, **_kwargs: Any) -> None:
        return None

    def lookup(name: str) -> Any:
        if name.startswith("__"):  # Python asks modules for such names, and must hear that they have none
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
    """Fork a keeper, which forks a child; watch the child, kill it when told to, and report how it ended.

    Args:
        control: the control socket.
        setting: the server's setting.
        prepared: objects that `_warm` has made.
        bounds: resource limits of the child.
        fds: the child's channel and its output; they are closed here.

    Raises:
        EOFError: the grader has closed the control socket.
    """
    from_keeper, to_server = os.pipe()
    server, keeper = os.getpid(), os.fork()
    if keeper == 0:
        control.close()  # otherwise the grader would not notice the server's end while a keeper lives
        os.close(from_keeper)
        channel, output = fds
        _run_keeper(
            setting, prepared, bounds, server=server, channel=channel, output=output, report=to_server
        )
    os.close(to_server)
    for fd in fds:
        os.close(fd)
    started = _read_record(from_keeper, _PID_RECORD)
    reason = None
    try:
        if started is not None:
            (child,) = started
            try:
                reason = _watch(control, from_keeper, child, bounds, setting)
            finally:
                # Also on EOFError: if the grader is gone, nobody else would ever end the child.
                _kill(child)
    finally:
        end = _read_record(from_keeper, _END_RECORD)
        os.close(from_keeper)
        os.waitpid(keeper, 0)
    status, cpu = (None, 0.0) if end is None else end
    frames.send(control, {"event": "gone", "reason": reason, "status": status, "cpu": cpu})


def _watch(
    control: socket.socket, end_report: int, child: int, bounds: Bounds, setting: Setting
) -> str | None:
    """Wait until the child ends, is to be killed, or exceeds a limit.

    Args:
        control: the control socket.
        end_report: the pipe from the keeper. It becomes readable when the keeper reports the child's end, or has ended
            itself: the child's process id, which it reported first, has been read already.
        child: the child's process id.
        bounds: resource limits of the child.
        setting: the server's setting.

    Returns:
        The reason why the child must be killed (`kill`, `time`, `memory`, `threads` or `processes`); None if it ended
        by itself.

    Raises:
        EOFError: the grader has closed the control socket.
    """
    memory_at_start = isolation.process_status(child).get("VmRSS", 0)
    cpu_limit = math.inf
    while True:
        ready, _, _ = select.select([control.fileno(), end_report], [], [], _WATCH_SECONDS)
        if control.fileno() in ready:
            header, _, _ = frames.receive(control)
            if header["op"] == "kill":
                return "kill"
            if header["op"] == "question":
                cpu_limit = isolation.processor_seconds(child) + header["cpu_seconds"]
        if end_report in ready:
            return None
        if isolation.processor_seconds(child) > cpu_limit:
            return "time"
        status = isolation.process_status(child)
        # This also covers what no resource limit counts under CUDA, such as shared mappings.
        if status.get("VmRSS", 0) > memory_at_start + _MEMORY_MARGIN * bounds.memory_bytes:
            return "memory"
        if status.get("Threads", 1) > isolation.max_threads():
            return "threads"
        if setting.isolate and sum(name.isdigit() for name in os.listdir("/proc")) > _MAX_PROCESSES:
            return "processes"


def _kill(child: int) -> None:
    """Kill the child and its process group, unless they have ended.

    Under isolation, all other processes of its PID namespace die with it.
    """
    for kill in (os.killpg, os.kill):
        try:
            kill(child, signal.SIGKILL)
        except (ProcessLookupError, PermissionError):  # it is gone already, or does not lead a group yet
            continue


def _read_record(pipe: int, record: struct.Struct) -> tuple[Any, ...] | None:
    """Read one record from a pipe; None if the writer has ended without writing it."""
    data = os.read(pipe, record.size)
    return record.unpack(data) if len(data) == record.size else None


# ---- the keeper: one for each child --------------------------------------------------------------
# It creates the child's PID namespace, except for CUDA. The server cannot do that itself, because a process can do it
# only once: again only after a `setns` back to its former namespace, which `--disable-userns` denies. This extra fork
# takes 6 ms of a submission's 150. As the child's parent, the keeper is also who learns how it ended.


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
    """Run as the keeper: fork the child in new namespaces, and report its id and its end.

    Args:
        setting: the server's setting.
        prepared: objects that the server has made.
        bounds: resource limits of the child.
        server: the server's process id; the keeper ends with the server.
        channel: descriptor of the child's channel.
        output: descriptor that receives what the child prints.
        report: descriptor of the pipe to the server, which receives a `_PID_RECORD` and an `_END_RECORD`.
    """
    try:
        os.setsid()
        isolation.die_with_parent(server)
        if setting.isolate:
            isolation.new_namespaces(pids=setting.device == "cpu")
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
