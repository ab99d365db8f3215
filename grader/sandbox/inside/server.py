"""Serve inside the sandbox: import torch and warm it up once, then have a child forked for each submission.

`grader.sandbox.server_process` starts the server; `grader.sandbox.client` talks to it and its children from outside.

    grader ── control ──▶ server (this process; never runs a submission, never sees its text or its trace)
      │                      └─ keeper (forked by the server; creates the namespaces, reports how the child ended)
      └──── channel ────────────▶ child (forked by the keeper; first process of its own PID namespace; plays exercises)

Program texts and traces go over the child's own channel, not over the control socket. So nothing of a submission is
ever in the memory of the server, from which the next child is forked.

On the control socket, the grader first sends the `ServerSettings`, and the server answers with the event `ready`. Then,
for one child after the other, the grader sends frames whose header names the operation in `op`:
    fork: fork a child with these `bounds`. Two descriptors come with the frame: the child's channel and its output.
    request: the grader is about to send the child a request, for which the child may use `cpu_seconds` of processor
        time from now on.
    kill: kill the child.
When the child has ended, the server answers with the event `gone`. It has the `reason` for which the server killed the
child (`protocol.KillReason`; None if the child ended by itself), its wait `status`, and the processor time that it
used, `cpu`, in seconds. If the keeper could not fork it, `status` is the keeper's own; None if the keeper was killed.

To add a limit that no resource limit enforces, add a condition in `_watch_child`. What every child needs and what takes
long for the first time, such as an import, belongs in `_warm`.
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
from collections.abc import Sequence
from contextlib import suppress
from typing import Any, NoReturn

from grader.sandbox.inside import isolation, protocol
from grader.sandbox.inside.absent_packages import leave_out_stand_ins
from grader.sandbox.inside.child import ServerObjects, become_child
from grader.sandbox.inside.dispatcher import refuse_new_kernels
from grader.sandbox.inside.hidden_modules import HiddenModules
from grader.sandbox.inside.isolation import Bounds
from grader.sandbox.inside.originals import Originals
from grader.sandbox.inside.protocol import CONTROL_FD, KillReason, ServerSettings

_WATCH_SECONDS = 0.05
"""Maximum time between two looks at what a child uses: for so long it may exceed a limit unnoticed."""
_PID_RECORD = struct.Struct("i")
"""The keeper's first report: the child's process id."""
_END_RECORD = struct.Struct("i d")
"""The keeper's last report: the child's wait status, and the processor time that it used, in seconds."""
_MEMORY_MARGIN = 1.2
"""Factor by which a child may exceed its memory limit before the server kills it. It is more than 1 so that the
resource limits act first, where they apply: they raise a MemoryError in the submission."""
_MAX_PROCESSES = 12
"""Maximum number of processes in the sandbox, so that a fork bomb ends on machines without a seccomp filter.

Four are always there: bubblewrap's first process, server, keeper and child. With the filter, which refuses forks, there
are no others. Without it, libraries may start up to eight helpers."""


def main() -> None:
    """Serve until the control socket is closed."""
    control = socket.socket(fileno=os.dup(CONTROL_FD))
    settings = ServerSettings(**protocol.receive_trusted(control).header)
    objects = _warm(settings)
    isolation.stop_exiting_on_hangup(CONTROL_FD)
    os.dup2(os.open(os.devnull, os.O_RDONLY), CONTROL_FD)  # becomes the children's standard input
    protocol.send(control, {"event": "ready"})
    while True:
        try:
            request = protocol.receive_trusted(control, max_fds=2)
            if request.header["op"] == "fork":
                _supervise_child(control, settings, objects, Bounds(**request.header["bounds"]), request.fds)
            # A `kill` or `request` that arrives here came too late: its child had ended by itself.
        except EOFError:
            return


def _warm(settings: ServerSettings) -> ServerObjects:
    """Import and use once what a child will need, so that a child starts in milliseconds.

    Nothing here may initialize CUDA or start threads, because neither works in a child that is forked afterwards. So
    nothing here runs a backward pass, which starts threads where a GPU is visible, even on the CPU
    (https://github.com/pytorch/pytorch/wiki/Autograd-and-Fork), or a step of Adam, which in torch 2.13 asks for CUDA's
    stream. Each child does these for the first time itself, which takes half a millisecond.

    The order matters: first imports and first uses, which change attributes of torch; then `Originals`, which remembers
    them; last `HiddenModules`, after which nothing of the grader can be imported.
    """
    leave_out_stand_ins()  # before libraries are imported that ask what is installed
    gc.disable()  # imported objects are never garbage; searching them again and again took a fifth of the time here
    import torch

    from grader.sandbox.inside.compiler_stand_in import install_stand_ins

    # Threads are not forked: a child would wait for ever for worker threads of the server.
    torch.set_num_threads(1)
    install_stand_ins()
    model = torch.nn.Linear(2, 1)
    torch.optim.AdamW(model.parameters())  # makes no step, as said above
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
    for name in settings.preimports:
        with suppress(ImportError):
            importlib.import_module(name)
    if settings.device != "cpu":
        _register_cuda_kernels()
    refuse_new_kernels()
    originals = Originals()
    originals.remember_libraries()
    modules = HiddenModules()
    gc.freeze()  # otherwise the collector of a child would touch, and so copy, all memory of torch
    gc.enable()
    gc.set_threshold(20_000)  # same as in `grader.grading.warm`, which is not in the sandbox
    return ServerObjects(modules, originals)


def _register_cuda_kernels() -> None:
    """Register the kernels that torch registers when CUDA starts: in a child, `refuse_new_kernels` would refuse them.

    They are for sparse matrices, written in Triton. Torch registers them only where Triton is installed, and only once.
    """
    import torch

    register = getattr(torch.cuda, "_register_triton_kernels", None)  # not part of torch's public interface
    if register is not None:
        register()


def _silence_notebook_functions() -> None:
    """Replace what notebooks import from `grader` by functions that do nothing, and modules of such functions.

    A submission is a whole notebook, so it imports and calls these. Its graded functions do not need their results.
    """
    import grader

    def do_nothing(*_args: Any, **_kwargs: Any) -> None:
        return None

    def module_getattr(name: str) -> Any:
        if name.startswith("__"):  # Python itself looks for such names, and must not find them
            raise AttributeError(name)
        return do_nothing

    for name in ("plots", "paths"):  # only notebooks of earlier editions use `paths`
        module = types.ModuleType(f"grader.{name}")
        module.__getattr__ = module_getattr  # type: ignore[method-assign]
        sys.modules[module.__name__] = module
        setattr(grader, name, module)
    vars(grader).update(dict.fromkeys(grader.__all__, do_nothing))


# ---- the server: one child at a time -------------------------------------------------------------


def _supervise_child(
    control: socket.socket,
    settings: ServerSettings,
    objects: ServerObjects,
    bounds: Bounds,
    fds: Sequence[int],
) -> None:
    """Fork a keeper, which forks a child; watch the child, kill it when told to, and report how it ended.

    Args:
        control: the control socket.
        settings: the server's settings.
        objects: objects that `_warm` has made.
        bounds: resource limits of the child.
        fds: descriptors of the child's channel and output. The server's copies are closed here.

    Raises:
        EOFError: the grader has closed the control socket.
    """
    from_keeper, to_server = os.pipe()
    lifeline, held_open = os.pipe()  # as long as `held_open` is open, the keeper knows that the server lives
    keeper = os.fork()
    if keeper == 0:
        control.close()  # otherwise the grader would not notice that the server ended, as long as the keeper lives
        os.close(from_keeper)
        os.close(held_open)
        channel, output = fds
        _run_keeper(
            settings,
            objects,
            bounds,
            channel=channel,
            output=output,
            lifeline=lifeline,
            report_pipe=to_server,
        )
    os.close(to_server)
    os.close(lifeline)
    for fd in fds:
        os.close(fd)
    started = _read_record(from_keeper, _PID_RECORD)
    reason: KillReason | None = None
    try:
        if started is not None:
            (child,) = started
            try:
                reason = _watch_child(control, from_keeper, child, bounds, settings)
            finally:
                # Also on EOFError, when the grader is gone: nobody else would ever end the child.
                _kill_child(child)
    finally:
        end = _read_record(from_keeper, _END_RECORD)
        os.close(from_keeper)
        _, keeper_status = os.waitpid(keeper, 0)
        os.close(held_open)
    # A keeper that could not make the child has said why; one that was killed has not.
    without_report = keeper_status if os.WIFEXITED(keeper_status) else None
    status, cpu = (without_report, 0.0) if end is None else end
    protocol.send(control, {"event": "gone", "reason": reason, "status": status, "cpu": cpu})


def _watch_child(
    control: socket.socket, end_report: int, child: int, bounds: Bounds, settings: ServerSettings
) -> KillReason | None:
    """Wait until the child has ended or must be killed.

    Args:
        control: the control socket.
        end_report: descriptor of the pipe from the keeper, from which the child's id has been read. So it becomes
            readable when the keeper reports the child's end, or ends itself.
        child: the child's process id.
        bounds: resource limits of the child.
        settings: the server's settings.

    Returns:
        Why the child must be killed; None if it has ended by itself.

    Raises:
        EOFError: the grader has closed the control socket.
    """
    memory_at_start = isolation.process_status(child).get("VmRSS", 0)
    cpu_limit = math.inf
    while True:
        ready, _, _ = select.select([control.fileno(), end_report], [], [], _WATCH_SECONDS)
        if control.fileno() in ready:
            header = protocol.receive_trusted(control).header
            if header["op"] == "kill":
                return "requested"
            if header["op"] == "request":
                cpu_limit = isolation.used_cpu_seconds(child) + header["cpu_seconds"]
        if end_report in ready:
            return None
        if isolation.used_cpu_seconds(child) > cpu_limit:
            return "time"
        status = isolation.process_status(child)
        # Under CUDA no resource limit counts shared mappings; this does.
        if status.get("VmRSS", 0) > memory_at_start + _MEMORY_MARGIN * bounds.memory_bytes:
            return "memory"
        if status.get("Threads", 1) > isolation.max_threads():
            return "threads"
        if settings.isolate and sum(name.isdigit() for name in os.listdir("/proc")) > _MAX_PROCESSES:
            return "processes"


def _kill_child(child: int) -> None:
    """Kill the child and its process group, if they still run.

    If the child has a PID namespace of its own, all other processes in it die too.
    """
    for kill in (os.killpg, os.kill):
        try:
            kill(child, signal.SIGKILL)
        except (ProcessLookupError, PermissionError):  # it has ended, or does not lead a group yet
            continue


def _read_record(pipe: int, record: struct.Struct) -> tuple[Any, ...] | None:
    """Read one record from a pipe; return None if the writer has ended without writing it."""
    data = os.read(pipe, record.size)
    return record.unpack(data) if len(data) == record.size else None


# ---- the keeper: one for each child --------------------------------------------------------------
# It creates the child's PID namespace, except for CUDA. The server cannot do that itself, because a process can create
# only one: to create another, it would have to go back to its own by `setns`, which fails with EPERM inside bubblewrap.
# This extra fork takes 6 ms of the 150 that a submission takes. The keeper is also the child's parent, so it is the
# process that the kernel tells how the child ended.


def _run_keeper(
    settings: ServerSettings,
    objects: ServerObjects,
    bounds: Bounds,
    *,
    channel: int,
    output: int,
    lifeline: int,
    report_pipe: int,
) -> NoReturn:
    """Run as the keeper: fork the child in new namespaces, and report its id and its end.

    If something fails, say it on the child's output and end with status 1; else end with 0.

    Args:
        settings: the server's settings.
        objects: objects that `_warm` has made.
        bounds: resource limits of the child.
        channel: descriptor of the child's channel.
        output: descriptor that receives what the child prints.
        lifeline: descriptor by which the keeper learns that the server has ended (see `isolation.die_with_parent`).
        report_pipe: descriptor of the pipe to the server, into which this writes a `_PID_RECORD` and an `_END_RECORD`.
    """
    try:
        os.setsid()
        isolation.die_with_parent(lifeline)
        if settings.isolate:
            isolation.create_namespaces(own_pids=settings.device == "cpu")
        # As long as `held_open` is open, the child knows that the keeper lives.
        childs_lifeline, held_open = os.pipe()
        child = os.fork()
        if child == 0:
            os.close(held_open)
            become_child(settings, objects, bounds, channel=channel, output=output, lifeline=childs_lifeline)
        os.write(report_pipe, _PID_RECORD.pack(child))
        os.close(channel)
        os.close(output)
        _, status, usage = os.wait4(child, 0)
        os.write(report_pipe, _END_RECORD.pack(status, usage.ru_utime + usage.ru_stime))
        os._exit(0)
    except BaseException as error:
        traceback.print_exc()
        # The grader shows the last line of what a child printed that did not get ready.
        with suppress(OSError):
            os.write(output, f"{type(error).__name__}: {error}\n".encode())
    finally:
        os._exit(1)
