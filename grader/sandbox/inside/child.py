"""Run as a child of the sandbox: load a submission, play the exercises that are asked for, and send back their traces.

A keeper forks the child (see `sandbox.inside.server`), for one submission only. Where the settings ask for isolation,
the child first gives up its rights. Then it answers the requests of `grader.sandbox.client` one after the other. An
exception of the submission becomes part of a trace. If the submission ends the whole process, there is no answer, and
the server reports how the child ended.

To answer another request, add it to `_serve_requests`, and send it in `sandbox/client.py Child`. How an exercise is
played, and what is recorded, is decided in `observe/play.py` and `observe/recorder.py`.
"""

import builtins
import os
import signal
import socket
import sys
import threading
import traceback
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NoReturn

from grader.observe.play import play
from grader.observe.program import Program, describe_failure, load_program
from grader.observe.trace import Failure, Trace, to_bytes
from grader.observe.wording import LEAVE_ORIGINALS
from grader.sandbox.inside import isolation, protocol
from grader.sandbox.inside.hidden_modules import HiddenModules
from grader.sandbox.inside.isolation import Bounds
from grader.sandbox.inside.originals import Originals
from grader.sandbox.inside.protocol import ServerSettings
from grader.sandbox.inside.suspicious_acts import MAX_ACT_REPORTS, watch_for_suspicious_acts

globals()["__builtins__"] = dict(vars(builtins))  # a copy of its own: see `inside/__init__.py`

_CHANNEL_FD = 3
"""Descriptor of the channel, the socket to the grader: the first one after the standard ones."""
_FILENAME = "<submission>"
"""File name of the submission in stack frames; `load_program` gives it this name."""
_MAX_REPLACED_SHOWN = 5
"""Maximum number of replaced things that a message names."""
_INDESCRIBABLE = Failure("BaseException", ("BaseException",), "")
"""Failure that is reported if describing an exception raises another one. It is made here, before a submission runs,
because a submission may replace `Failure.__init__`."""
_REPORT_SECONDS = 1.0
"""Maximum time for which the report of a suspicious act waits until another frame has been sent."""
_NO_TIME_LIMIT = 0.0
"""Argument of `_limit_processor_time` that switches the timer off."""


@dataclass(frozen=True)
class ServerObjects:
    """Objects that the server makes once, and that all of its children inherit by the fork."""

    modules: HiddenModules
    """The grader's modules, which submissions cannot import."""
    originals: Originals
    """The original attributes of the libraries and of `grader.observe`."""


def become_child(
    settings: ServerSettings,
    objects: ServerObjects,
    bounds: Bounds,
    *,
    channel: int,
    output: int,
    lifeline: int,
) -> NoReturn:
    """Turn a freshly forked process into a child: set limits, isolate it if asked to, then answer requests.

    The process ends with status 0 if the channel is closed while it waits for a request, with 1 after an error of the
    grader's own or at the time limit of an attempt; a submission can end it with any status.

    Args:
        settings: the server's settings.
        objects: objects that the server made before it forked.
        bounds: resource limits of this child.
        channel: descriptor of the socket to the grader.
        output: descriptor that receives what the submission prints.
        lifeline: descriptor by which the child learns that its parent has ended (see `isolation.die_with_parent`).
    """
    exit_code = 1
    try:
        os.setsid()  # a session and process group of its own, so that `os.kill(0, …)` does not reach the server
        isolation.die_with_parent(lifeline)
        _set_up_descriptors(channel, output)
        if settings.device != "cpu":
            import torch

            # Start CUDA before `replace_tmp_and_proc` hides /proc, which its driver reads.
            torch.zeros(1, device=settings.device)
        isolation.set_limits(bounds, limit_address_space=settings.device == "cpu")
        if settings.isolate:
            isolation.replace_tmp_and_proc(bounds, settings.visible_folders)
            isolation.drop_rights(uses_gpu=settings.device != "cpu")
        _serve_requests(socket.socket(fileno=_CHANNEL_FD), objects, settings.device)
    except EOFError:  # the grader has closed the channel
        exit_code = 0
    except BaseException as error:
        # An error of the grader's own. If the child was not ready yet, the grader shows the last line that was printed:
        # so the type and the first line of the message are printed once more after the traceback.
        traceback.print_exc()
        print(f"{type(error).__name__}: {error}".splitlines()[0], file=sys.stderr, flush=True)
    finally:
        os._exit(exit_code)


def _set_up_descriptors(channel: int, output: int) -> None:
    """Make `output` descriptors 1 and 2 and `channel` descriptor 3, and close all except 0 to 3."""
    os.dup2(output, 1)
    os.dup2(output, 2)
    os.dup2(channel, _CHANNEL_FD)
    os.closerange(_CHANNEL_FD + 1, os.sysconf("SC_OPEN_MAX"))


def _serve_requests(channel: socket.socket, objects: ServerObjects, device: str) -> NoReturn:
    """Answer the grader's requests until the channel is closed.

    A request is a frame; its header names the operation in `op`:
        unpack: unpack the driver of `exercise`; the body is its parcel. The answer is the event `unpacked`.
        load: execute the program text in the body. The answer is the event `loaded`.
        play: play all scenarios of `exercise` with `seed`. The answer repeats `exercise`; its body is the trace of the
            program loaded last.
        attempt: execute the program text in the body, if there is one; then play the scenarios `only` of `exercise`
            with `seed`. The answer repeats `exercise`, and `number`, which tells attempts apart; its body is the trace.
    A header may also have `cpu_seconds`: the maximum processor time until the answer is sent.

    Besides the answers, the child sends the event `ready` at the beginning, and at any time the event `suspicious_act`,
    with its name `act`, the `line` of the program, and the number of the `program`: how many have been loaded so far.

    Raises:
        EOFError: the grader has closed the channel.
        ValueError: a request has an unknown `op`.
    """
    player = _Player(objects, device)
    sender = _Sender(channel)
    sender.send({"event": "ready"})
    begin_program = watch_for_suspicious_acts(_FILENAME, sender.report_act, max_reports=MAX_ACT_REPORTS)
    while True:
        header, body, _ = protocol.receive_trusted(channel)  # no descriptors come with a request
        # Lift it if there is none: code that ran before may have set the timer itself.
        _limit_processor_time(header.get("cpu_seconds", _NO_TIME_LIMIT))
        match header["op"]:
            case "unpack":
                player.add_driver(header["exercise"], body)
                sender.send({"event": "unpacked"})
            case "load":
                begin_program()
                player.load(body)
                # Also if loading raised an exception: `play` reports it.
                sender.send({"event": "loaded"})
            case "play":
                trace = player.play(header["exercise"], header["seed"])
                _send_trace(sender, {"exercise": header["exercise"]}, trace)
            case "attempt":
                if body:
                    begin_program()
                    player.load(body)
                trace = player.play(header["exercise"], header["seed"], header["only"])
                # The number shows to which attempt this answer belongs, also if forged answers were sent before.
                _send_trace(sender, {"exercise": header["exercise"], "number": header["number"]}, trace)
            case other:
                raise ValueError(f"not a request that the grader sends: {other}")


class _Sender:
    """Sends frames to the grader, each as a whole: a thread of the submission may do a suspicious act meanwhile."""

    def __init__(self, channel: socket.socket) -> None:
        self._channel = channel
        self._sending = threading.Lock()

    def send(self, header: protocol.Header, body: bytes = b"") -> None:
        """Send an event or an answer."""
        with self._sending:
            protocol.send(self._channel, header, body)

    def report_act(self, act: str, line: int, program: int) -> None:
        """Report a suspicious act; leave it out if another frame is still being sent after `_REPORT_SECONDS`.

        It may never be sent to its end: the act may be done in a signal handler that interrupted the sending.

        Raises:
            OSError: the grader has closed the channel.
        """
        if self._sending.acquire(timeout=_REPORT_SECONDS):
            try:
                header = {"event": "suspicious_act", "act": act, "line": line, "program": program}
                protocol.send(self._channel, header)
            finally:
                self._sending.release()


def _send_trace(sender: _Sender, header: protocol.Header, trace: bytes) -> None:
    """Lift the time limit, flush what was printed, and send the trace."""
    _limit_processor_time(_NO_TIME_LIMIT)
    _flush_output()
    sender.send(header, trace)


class _Player:
    """Loads program texts, and plays exercises with the text loaded last.

    It restores originals (see `originals`) before a driver is unpacked or played, and after each play. What was
    replaced while a text was loaded, or between plays (by a thread, a `__del__` or `sys.stdout.flush`), costs nothing;
    if something has to be restored after a play, that play has failed.
    """

    def __init__(self, objects: ServerObjects, device: str) -> None:
        self._modules, self._originals, self._device = objects.modules, objects.originals, device
        self._drivers: dict[str, Any] = {}
        """Name of an exercise -> its driver, if that was unpacked."""
        self._program = Program({}, _FILENAME)
        self._load_error: BaseException | None = None
        """What `load_program` raised for the text loaded last; None if nothing. Usual exceptions are in `_program`."""

    def add_driver(self, exercise: str, parcel: bytes) -> None:
        """Unpack the driver of an exercise, and remember the originals of the modules that come with it."""
        self._originals.restore()  # a replaced function would otherwise take part in the unpacking
        unpacked = self._modules.unpack(parcel)
        self._drivers[exercise] = unpacked.driver
        self._originals.remember(unpacked.modules)

    def load(self, source: bytes) -> None:
        """Execute a text in UTF-8 as the program to be played. Exceptions of the text are left for `play` to report."""
        self._load_error = None
        try:
            self._program = load_program(source.decode("utf-8", "surrogatepass"))
        except BaseException as error:
            # `load_program` lets pass what no usual program raises: KeyboardInterrupt, a BaseException of its own.
            self._load_error = error

    def play(self, exercise: str, seed: int, only: Sequence[str] | None = None) -> bytes:
        """Play an exercise with the program and return its trace, serialized.

        Args:
            exercise: name of an exercise whose driver was unpacked.
            seed: seed of all scenarios.
            only: names of the scenarios to play; None: all.
        """
        driver = self._drivers[exercise]
        if self._load_error is not None:
            return _error_trace(self._load_error, self._program)
        try:
            self._originals.restore()  # what was replaced is not reported, because it costs nothing
            try:
                trace = play(driver, self._program, seed=seed, device=self._device, only=only)
            finally:
                replaced = self._originals.restore()  # also before an exception is described
            if replaced:
                trace = Trace(load_failure=_replacement_failure(replaced, self._modules.grader_names()))
            return to_bytes(trace)
        except BaseException as error:
            # Nobody presses Ctrl-C here, so KeyboardInterrupt is an exception like any other.
            return _error_trace(error, self._program)


def _error_trace(error: BaseException, program: Program) -> bytes:
    """Return the serialized trace of a program that was not played to the end because of an error."""
    try:
        return to_bytes(Trace(load_failure=describe_failure(error, program)))
    except BaseException:  # its `__str__` or its class is hostile
        return to_bytes(Trace(load_failure=_INDESCRIBABLE))


def _limit_processor_time(seconds: float) -> None:
    """End the child when it has used this much processor time from now on; `_NO_TIME_LIMIT` lifts the limit."""
    if seconds != _NO_TIME_LIMIT:
        # A handler is needed, because the child is the first process of its PID namespace: for such a process, the
        # kernel ignores signals without one.
        signal.signal(signal.SIGPROF, lambda *_: os._exit(1))
    signal.setitimer(signal.ITIMER_PROF, seconds)


def _replacement_failure(replaced: list[str], grader_names: set[str]) -> Failure:
    """Return the failure that is reported for a submission that replaced something while it was played.

    Args:
        replaced: names of what it replaced, as `Originals.restore` returns them.
        grader_names: names of the grader's own classes and functions, which are not shown to the learner.
    """
    described = dict.fromkeys(
        "채점기의 코드" if name.split(".")[0] in grader_names else f"`{name}`" for name in replaced
    )
    shown = ", ".join([*described][:_MAX_REPLACED_SHOWN])
    message = f"{LEAVE_ORIGINALS} 실행하는 동안 바뀐 것: {shown}"
    return Failure("RuntimeError", ("RuntimeError", "Exception", "BaseException"), message)


def _flush_output() -> None:
    """Flush what was printed, so that it counts as output of the exercise that printed it."""
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except BaseException:
            continue  # the submission has put an object of its own there
