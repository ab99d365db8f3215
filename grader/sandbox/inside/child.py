"""Run as the server's forked child: load a submission, play the exercises asked for, and send back their traces."""

import os
import signal
import socket
import sys
import traceback
from dataclasses import dataclass
from typing import Any, NoReturn

from grader.observe.play import play
from grader.observe.program import Program, describe_failure, load_program
from grader.observe.trace import Failure, Trace, to_bytes
from grader.observe.wording import LEAVE_ORIGINALS
from grader.sandbox.inside import frames, isolation
from grader.sandbox.inside.frames import Setting
from grader.sandbox.inside.isolation import Bounds
from grader.sandbox.inside.originals import Originals
from grader.sandbox.inside.reaching import report_acts
from grader.sandbox.inside.unpack import Modules

_CHANNEL_FD = 3
"""Descriptor of the socket to the grader: the first one after the standard ones."""
_MAX_NAMES = 5
"""Maximum number of replaced attributes named in a message."""


@dataclass(frozen=True)
class Prepared:
    """Objects that the server makes once for all of its children."""

    modules: Modules
    originals: Originals


def become_child(setting: Setting, prepared: Prepared, bounds: Bounds, channel: int, output: int) -> NoReturn:
    """Turn a freshly forked process into a child: give up rights, then answer until the channel is closed.

    Args:
        setting: the server's setting.
        prepared: objects made by the server.
        bounds: resource limits of this child.
        channel: descriptor of the socket to the grader.
        output: descriptor that receives what the submission prints.
    """
    exit_code = 1
    try:
        os.setsid()  # before anything else: `kill(0)` by the submission must not reach the server
        isolation.die_with_parent()
        _keep_only(channel, output)
        if setting.device != "cpu":
            import torch

            # Start CUDA now: its driver reads /proc, which is about to be hidden
            torch.zeros(1, device=setting.device)
        isolation.set_limits(bounds, address_space=setting.device == "cpu")
        if setting.isolate:
            isolation.mount_own_files(bounds, setting.visible)
            isolation.drop_rights(drives_devices=setting.device != "cpu")
        _serve_requests(socket.socket(fileno=_CHANNEL_FD), prepared, setting.device)
        exit_code = 0
    except EOFError:
        exit_code = 0
    except BaseException:
        traceback.print_exc()
        sys.stderr.flush()
    finally:
        os._exit(exit_code)


def _keep_only(channel: int, output: int) -> None:
    """Close all descriptors but the empty standard input, the output and the channel."""
    os.dup2(output, 1)
    os.dup2(output, 2)
    os.dup2(channel, _CHANNEL_FD)
    os.closerange(_CHANNEL_FD + 1, os.sysconf("SC_OPEN_MAX"))


def _serve_requests(channel: socket.socket, prepared: Prepared, device: str) -> None:
    """Answer the grader's requests until the channel is closed.

    The requests are `bring` (unpack a driver), `load` (execute a file's text), `play` (play an exercise) and `attempt`
    (execute an attempt's text, if one is sent, and play one scenario).

    Raises:
        EOFError: the grader has closed the channel.
    """

    def trace_of_error(error: BaseException) -> bytes:
        # The recorder lets KeyboardInterrupt and a submission's own BaseException through. Here, where nobody presses
        # Ctrl-C, they are errors like any other.
        try:
            return to_bytes(Trace(load_failure=describe_failure(error, program)))
        except BaseException:  # its __str__ or class is hostile too
            return to_bytes(Trace(load_failure=indescribable))

    indescribable = indescribable_failure()
    program = Program({}, "<submission>")
    load_error: BaseException | None = None  # what `load_program` raised for the current text, if it did
    modules, originals = prepared.modules, prepared.originals
    drivers: dict[str, Any] = {}
    as_it_was = False  # True while no code of the submission has run since the libraries were restored
    frames.send(channel, {"event": "ready"})
    report_acts(
        program.filename,
        lambda act, line: frames.send(channel, {"event": "reached", "act": act, "line": line}),
        max_reports=frames.MAX_REACHED,
    )
    while True:
        header, source, _ = frames.receive(channel)
        if header["op"] == "bring":
            if not as_it_was:
                originals.restore()
            as_it_was = True
            drivers[header["exercise"]], unpacked = modules.unpack(source)
            originals.keep(unpacked)
            continue
        _limit_processor_time(header.get("cpu_seconds", 0.0))
        if header["op"] == "load" or source:
            load_error, as_it_was = None, False
            try:
                program = load_program(source.decode("utf-8", "surrogatepass"))
            except BaseException as error:
                load_error = error
        if header["op"] == "load":
            frames.send(channel, {"event": "loaded"})
            continue
        name = header["exercise"]
        if load_error is not None:
            blob = trace_of_error(load_error)
        else:
            try:
                only, seed = header.get("only"), header["seed"]
                if not as_it_was:
                    originals.restore()
                as_it_was = False
                trace = play(drivers[name], program, seed=seed, device=device, only=only)
                changed = originals.restore()
                as_it_was = True
                blob = to_bytes(Trace(load_failure=_replacement_failure(changed)) if changed else trace)
            except BaseException as error:
                blob = trace_of_error(error)
        _limit_processor_time(0.0)
        _flush()
        answer: frames.Header = {key: header[key] for key in ("exercise", "number") if key in header}
        frames.send(channel, answer, blob)


def _limit_processor_time(seconds: float) -> None:
    """End the child after this many seconds of processor time from now; 0 means no limit.

    The signal needs a handler, because its default action is ignored in the first process of a PID namespace.
    """
    if seconds:
        signal.signal(signal.SIGPROF, lambda *_: os._exit(1))
    signal.setitimer(signal.ITIMER_PROF, seconds)


def _replacement_failure(names: list[str]) -> Failure:
    """Return the failure of a submission that replaced something while it ran.

    Args:
        names: what it replaced, as `Originals.restore` returns it. Names of the grader's own code are not shown.
    """
    grader_names = _grader_names()
    described = dict.fromkeys(
        "채점기의 코드" if name.split(".")[0] in grader_names else f"`{name}`" for name in names
    )
    shown = ", ".join([*described][:_MAX_NAMES])
    message = f"{LEAVE_ORIGINALS} 실행하는 동안 바뀐 것: {shown}"
    return Failure("RuntimeError", ("RuntimeError", "Exception", "BaseException"), message)


def _grader_names() -> set[str]:
    """Return the names of all classes and functions of the grader's modules, and `grader` itself."""
    modules = [module for name, module in [*sys.modules.items()] if name.startswith("grader.")]
    return {"grader"} | {
        name
        for module in modules
        for name, value in [*vars(module).items()]
        if str(getattr(value, "__module__", "")).startswith("grader.")
    }


def indescribable_failure() -> Failure:
    """Return a failure that says only that there was one: what was raised cannot even be described."""
    return Failure("BaseException", ("BaseException",), "")


def _flush() -> None:
    """Flush the output streams, so that output counts for the exercise that printed it."""
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except BaseException:  # the submission put something of its own there
            continue
