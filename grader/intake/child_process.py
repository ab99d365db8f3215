"""Call functions in a child process with limits, so that nothing an upload does can stop the grader.

    this process ── function, arguments ──▶ child: unpacks, copies, parses, one upload after another
                 ◀──────── answer ─────────┘

The child imports only what reading needs, no torch: it starts in a tenth of a second, once for a class. A child that
died, or that may have come to hold too much memory, is replaced. Windows has no such limits; there the function runs in
this process.
"""

import errno
import os
import pickle
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from importlib.util import find_spec
from multiprocessing.connection import Connection
from pathlib import Path
from types import TracebackType
from typing import Any, ParamSpec, Self, TypeVar

from grader.base.errors import HanstepError

_Parameters = ParamSpec("_Parameters")
_Result = TypeVar("_Result")

CAN_LIMIT = os.name == "posix"
"""True if this platform can limit a child process."""
MEMORY_BYTES = 2 * 2**30
"""Limit of the child's address space; the largest notebook that is accepted takes a fifth of it."""
_FILE_BYTES = 2**29
"""Largest file that the child may write, in bytes."""
_START_SECONDS, _END_SECONDS = 120.0, 10.0
"""Seconds to wait for the child's start (Python may come from a slow network drive) and for its end."""
_MACHINE_ERRORS = frozenset((errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.EMFILE, errno.ENFILE))
"""Errors that no upload causes and that would meet the next upload too: a full disk, too many open files."""
_START = (
    "import sys; sys.path.insert(0, sys.argv[2]); sys.path += sys.argv[3:]; "
    "from grader.intake.child_process import serve; serve(int(sys.argv[1]))"
)


@dataclass(frozen=True)
class TimeLimits:
    """Time limits of one call."""

    cpu_seconds: int = 25
    seconds: float = 50.0
    """Wall-clock seconds; longer than the processor time because the child may have to wait for a disk."""


class CannotRead(HanstepError):
    """The child process does not start."""


class CallFailed(Exception):
    """A call did not finish; the message is Korean and written for the student too."""

    def __init__(self, what: str) -> None:
        super().__init__(f"{what} 낼 파일(.ipynb나 .py)만 다시 내 주세요.")
        self.what = what
        """The message without the advice to the student."""


class LimitedChild:
    """Calls functions in the child process, which starts at the first call."""

    def __init__(self, time_limits: TimeLimits | None = None) -> None:
        self._time_limits = time_limits or TimeLimits()
        self._process: subprocess.Popen[bytes] | None = None
        self._connection: Connection[Any, Any] | None = None
        self._calls = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.end()

    def call(
        self,
        function: Callable[_Parameters, _Result],
        *args: _Parameters.args,
        **kwargs: _Parameters.kwargs,
    ) -> _Result:
        """Call a module-level function in the child and return its result.

        If the child dies or runs out of memory and had served other calls before, the function is called once more in a
        new child.

        Raises:
            CallFailed: the function raised, died, or took more time or memory than it may.
            HanstepError: the function raised it, or the child does not start.
            OSError: the machine is at fault, for example with a full disk.
        """
        answer = self._answer(function, args, kwargs)
        # Earlier calls may have left too little memory.
        if answer[0] in ("died", "memory") and self._calls > 1:
            self.end()
            answer = self._answer(function, args, kwargs)
        if answer[0] == "value":
            result: _Result = answer[1]
            return result
        if answer[0] == "raised":
            raise answer[1]
        self.end()
        raise CallFailed(_message(answer[0], answer[1]))

    def _answer(self, function: Callable[..., Any], args: Any, kwargs: Any) -> tuple[str, Any]:
        """Call the function once; return the kind of outcome and its value.

        Kinds: `value`, `raised` (an exception for the caller), `failed` (name of an unexpected exception), `time`,
        `memory`, `died` (exit code).
        """
        if not CAN_LIMIT:
            return _called(function, args, kwargs)
        if self._connection is None:
            self._begin()
        assert self._connection is not None
        self._calls += 1
        try:
            self._connection.send((function, args, kwargs, self._time_limits.cpu_seconds))
            if not self._connection.poll(self._time_limits.seconds):
                return "time", None
            answer: tuple[str, Any] = self._connection.recv()
        except (OSError, EOFError, pickle.UnpicklingError):
            code = self._exit_code()
            return ("time", None) if code == -signal.SIGXCPU else ("died", code)
        return answer

    def _exit_code(self) -> int | None:
        """Return the exit code of a child that has closed its end; the system may report its death a moment later."""
        assert self._process is not None
        with suppress(subprocess.TimeoutExpired):
            self._process.wait(_END_SECONDS)
        return self._process.returncode

    def _begin(self) -> None:
        """Start the child and wait until it says that it is ready."""
        from multiprocessing import Pipe

        self._connection, inside = Pipe()
        with inside:
            self._process = subprocess.Popen(
                [
                    # With -I and -S no module beside the uploads is taken for Python's own.
                    *(sys.executable, "-I", "-S"),
                    *(("-X", "utf8") if sys.flags.utf8_mode else ()),
                    *("-c", _START, str(inside.fileno()), str(Path(__file__).resolve().parents[2])),
                    *_folder_of("yaml"),  # for projects of Deepnote, whose reader imports it at the first one
                ],
                pass_fds=(inside.fileno(),),
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
            )
        self._calls = 0
        try:
            if self._connection.poll(_START_SECONDS):
                self._connection.recv()  # the child says that it is ready
                return
        except (OSError, EOFError):
            pass
        code = self._exit_code()
        self.end()
        raise CannotRead(
            f"제출물을 읽는 프로그램을 시작하지 못했어요 (종료 코드 {code}). "
            "남은 메모리(free -h)를 확인하고 다시 채점해 주세요."
        )

    def end(self) -> None:
        """End the child; the next call starts another."""
        if self._connection is not None:
            self._connection.close()
            self._connection = None
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            self._process = None


def _folder_of(package: str) -> tuple[str, ...]:
    """Return the folder from which a package is imported here; empty if it is not installed."""
    found = find_spec(package)
    return () if found is None or found.origin is None else (str(Path(found.origin).parents[1]),)


def _message(what: str, detail: Any) -> str:
    if what == "time":
        return "읽는 데 너무 오래 걸려서 멈췄어요."
    if what == "memory":
        return "읽는 데 메모리가 너무 많이 들어서 멈췄어요."
    if what == "died":
        return f"읽다가 프로그램이 갑자기 끝났어요(종료 코드 {detail})."
    return f"읽다가 오류가 났어요({detail})."


def is_machine_fault(error: BaseException) -> bool:
    """Return True if the machine is to blame and no upload: a full disk, too many open files."""
    return isinstance(error, OSError) and error.errno in _MACHINE_ERRORS


def _called(function: Callable[..., Any], args: Any, kwargs: Any) -> tuple[str, Any]:
    try:
        return "value", function(*args, **kwargs)
    except MemoryError:
        return "memory", None
    except HanstepError as error:
        return "raised", error
    except Exception as error:
        return ("raised", error) if is_machine_fault(error) else ("failed", type(error).__name__)


# ---- inside the child ------------------------------------------------------------------------------


def serve(fileno: int) -> None:
    """Answer calls until the parent closes its end. Runs in the child."""
    # Ctrl-C reaches the child too, but the parent decides what happens then.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    connection: Connection[Any, Any] = Connection(fileno)
    _limit_memory()
    connection.send(None)
    with suppress(EOFError, OSError):
        while True:
            function, args, kwargs, cpu_seconds = connection.recv()
            _limit_time(cpu_seconds)
            connection.send_bytes(_pickled(_called(function, args, kwargs)))


def _pickled(answer: tuple[str, Any]) -> bytes:
    try:
        return pickle.dumps(answer)
    except MemoryError:
        return pickle.dumps(("memory", None))
    except Exception as error:
        return pickle.dumps(("failed", type(error).__name__))


def _limit_memory() -> None:
    import resource

    for kind, most in (
        (resource.RLIMIT_AS, MEMORY_BYTES),
        (resource.RLIMIT_FSIZE, _FILE_BYTES),
        (resource.RLIMIT_CORE, 0),
    ):
        _, hard = resource.getrlimit(kind)
        with suppress(OSError, ValueError):  # macOS cannot limit the address space
            resource.setrlimit(kind, (most if hard < 0 else min(most, hard), hard))


def _limit_time(cpu_seconds: int) -> None:
    """Limit the processor time of the next call.

    The default action of SIGXCPU ends the process, even in the middle of a decoder written in C.
    """
    import resource

    _, hard = resource.getrlimit(resource.RLIMIT_CPU)
    most = int(time.process_time()) + 1 + cpu_seconds
    with suppress(OSError, ValueError):
        resource.setrlimit(resource.RLIMIT_CPU, (most if hard < 0 else min(most, hard), hard))
