"""Run as a child of the sandbox: load a submission, play the exercises asked for, and send back their traces.

Each submission has a child of its own, forked from the warm server (`inside.server` shows how). A child first gives up
its rights, then answers the requests of `grader.sandbox.client` one after the other. What a submission raises is part
of an answer; how a child ended is reported by the server.
"""

import os
import signal
import socket
import sys
import traceback
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NoReturn

from grader.observe.play import play
from grader.observe.program import Program, describe_failure, load_program
from grader.observe.trace import Failure, Trace, to_bytes
from grader.observe.wording import LEAVE_ORIGINALS
from grader.sandbox.inside import frames, isolation
from grader.sandbox.inside.frames import Setting
from grader.sandbox.inside.hidden_modules import HiddenModules
from grader.sandbox.inside.isolation import Bounds
from grader.sandbox.inside.originals import Originals
from grader.sandbox.inside.reaching import report_acts

_CHANNEL_FD = 3
"""Descriptor of the socket to the grader: the first one after the standard ones."""
_FILENAME = "<submission>"
"""File name of the submission in stack frames, as `load_program` gives it."""
_MAX_REPLACED_SHOWN = 5
"""Maximum number of replaced attributes that a message shows."""
_INDESCRIBABLE = Failure("BaseException", ("BaseException",), "")
"""Failure that is reported if describing an exception raises another. It is made before a submission runs, because a
submission may replace `Failure.__init__`."""


@dataclass(frozen=True)
class Prepared:
    """Objects that the server makes once for all of its children."""

    modules: HiddenModules
    """The grader's modules, hidden already."""
    originals: Originals
    """The originals of all libraries, and of the grader's modules that the server has imported."""


def become_child(setting: Setting, prepared: Prepared, bounds: Bounds, channel: int, output: int) -> NoReturn:
    """Turn a freshly forked process into a child: give up rights, then answer until the channel is closed.

    The process ends with status 0 when the channel was closed, and 1 after an error of the grader's own.

    Args:
        setting: the server's setting.
        prepared: objects that the server has made.
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
    except EOFError:  # the usual end: the grader has closed the channel
        exit_code = 0
    except BaseException as error:
        # An error of the grader's own. If the child ends before it is ready, the grader shows the last printed line, so
        # print the first line of the message last: later lines of a message may say nothing.
        traceback.print_exc()
        print(f"{type(error).__name__}: {error}".splitlines()[0], file=sys.stderr, flush=True)
    finally:
        os._exit(exit_code)


def _keep_only(channel: int, output: int) -> None:
    """Put `output` on descriptors 1 and 2 and `channel` on 3, and close the rest but 0, the empty standard input."""
    os.dup2(output, 1)
    os.dup2(output, 2)
    os.dup2(channel, _CHANNEL_FD)
    os.closerange(_CHANNEL_FD + 1, os.sysconf("SC_OPEN_MAX"))


def _serve_requests(channel: socket.socket, prepared: Prepared, device: str) -> NoReturn:
    """Answer the grader's requests until the channel is closed.

    A request is a frame; its header names the operation in `op`:
        bring: unpack the driver of `exercise`; the body is its parcel. There is no answer.
        load: execute the file's text in the body. The answer is the event `loaded`.
        play: play all scenarios of `exercise` with `seed`. The answer's body is the trace.
        attempt: first execute the text in the body, if there is one; then play the scenarios `only` of `exercise` with
            `seed`, in at most `cpu_seconds` of processor time for both. The answer's body is the trace.

    Raises:
        EOFError: the grader has closed the channel.
        ValueError: a request has another `op`.
    """
    player = _Player(prepared, device)
    frames.send(channel, {"event": "ready"})
    report_acts(
        _FILENAME,
        lambda act, line: frames.send(channel, {"event": "reached", "act": act, "line": line}),
        max_reports=frames.MAX_REACHED,
    )
    while True:
        header, body, _ = frames.receive(channel)
        match header["op"]:
            case "bring":
                player.bring(header["exercise"], body)
            case "load":
                _limit_processor_time(0.0)  # code that ran before may have set the timer itself
                player.load(body)
                # Also if loading failed: then each exercise that is asked for is answered with what the program raised.
                frames.send(channel, {"event": "loaded"})
            case "play":
                _limit_processor_time(0.0)  # as for `load`
                trace = player.play(header["exercise"], header["seed"])
                _answer(channel, {"exercise": header["exercise"]}, trace)
            case "attempt":
                _limit_processor_time(header["cpu_seconds"])
                if body:
                    player.load(body)
                trace = player.play(header["exercise"], header["seed"], header["only"])
                # The number shows to which attempt this answer belongs, even if a forged answer came before it.
                _answer(channel, {"exercise": header["exercise"], "number": header["number"]}, trace)
            case other:
                raise ValueError(f"no request of the grader's: {other}")


def _answer(channel: socket.socket, header: frames.Header, trace: bytes) -> None:
    """Send the trace of what was played, after lifting its time limit and flushing what it printed."""
    _limit_processor_time(0.0)
    _flush()
    frames.send(channel, header, trace)


class _Player:
    """Loads one text after the other, and plays the exercises brought so far with the text loaded last.

    Originals are restored before a driver is unpacked or played, unless no code of a submission has run since the last
    time. What was replaced while a text was loaded is forgiven; what was replaced during a play makes that play fail.
    """

    def __init__(self, prepared: Prepared, device: str) -> None:
        self._modules, self._originals, self._device = prepared.modules, prepared.originals, device
        self._drivers: dict[str, Any] = {}
        """Name of an exercise -> its driver."""
        self._program = Program({}, _FILENAME)
        self._load_error: BaseException | None = None
        """What `load_program` raised for the text loaded last; None if it raised nothing."""
        self._clean = False
        """True while no code of a submission has run since the originals were restored."""

    def bring(self, exercise: str, parcel: bytes) -> None:
        """Unpack the driver of an exercise."""
        self._restore_unless_clean()
        self._drivers[exercise], unpacked = self._modules.unpack(parcel)
        self._originals.keep(unpacked)

    def load(self, source: bytes) -> None:
        """Execute a text in UTF-8 as the program to be played; if that raises, `play` returns what it raised."""
        self._clean = False
        self._load_error = None
        try:
            self._program = load_program(source.decode("utf-8", "surrogatepass"))
        except BaseException as error:
            # `load_program` lets KeyboardInterrupt and a submission's own BaseException through.
            self._load_error = error

    def play(self, exercise: str, seed: int, only: Sequence[str] | None = None) -> bytes:
        """Play an exercise with the program and return its trace, serialized.

        Args:
            exercise: name of an exercise that was brought.
            seed: seed of all scenarios.
            only: names of the scenarios to play; None: all.
        """
        driver = self._drivers[exercise]
        if self._load_error is not None:
            return _error_trace(self._load_error, self._program)
        try:
            self._restore_unless_clean()
            self._clean = False
            trace = play(driver, self._program, seed=seed, device=self._device, only=only)
            replaced = self._originals.restore()
            self._clean = True
            if replaced:
                trace = Trace(load_failure=_replacement_failure(replaced, self._modules.grader_names()))
            return to_bytes(trace)
        except BaseException as error:
            # The recorder, like `load_program`, lets KeyboardInterrupt and a submission's own BaseException through.
            # Here, where nobody presses Ctrl-C, these are errors like any other.
            return _error_trace(error, self._program)

    def _restore_unless_clean(self) -> None:
        """Restore the originals if code of a submission may have replaced some; it costs time even if none did."""
        if not self._clean:
            self._originals.restore()  # the names are not needed: what was replaced until now is forgiven
        self._clean = True


def _error_trace(error: BaseException, program: Program) -> bytes:
    """Return the serialized trace of a program that was not played to the end because of an error."""
    try:
        return to_bytes(Trace(load_failure=describe_failure(error, program)))
    except BaseException:  # its __str__ or its class is hostile
        return to_bytes(Trace(load_failure=_INDESCRIBABLE))


def _limit_processor_time(seconds: float) -> None:
    """End the child as soon as it has used so many seconds of processor time from now on; 0.0 lifts the limit."""
    if seconds:
        # The default action of the signal is not enough: the first process of a PID namespace ignores it.
        signal.signal(signal.SIGPROF, lambda *_: os._exit(1))
    signal.setitimer(signal.ITIMER_PROF, seconds)


def _replacement_failure(replaced: list[str], grader_names: set[str]) -> Failure:
    """Return the failure of a submission that replaced something while it was played.

    Args:
        replaced: names of what it replaced, as `Originals.restore` returns them.
        grader_names: names of the grader's own code, which are not shown to the learner.
    """
    described = dict.fromkeys(
        "채점기의 코드" if name.split(".")[0] in grader_names else f"`{name}`" for name in replaced
    )
    shown = ", ".join([*described][:_MAX_REPLACED_SHOWN])
    message = f"{LEAVE_ORIGINALS} 실행하는 동안 바뀐 것: {shown}"
    return Failure("RuntimeError", ("RuntimeError", "Exception", "BaseException"), message)


def _flush() -> None:
    """Flush what was printed, so that it counts for the exercise that printed it."""
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except BaseException:
            continue  # the submission put something of its own there
