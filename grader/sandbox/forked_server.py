"""Fork this process to serve as the sandbox's server, which saves the seconds that importing torch again would take.

`server_process.py` uses a `ForkedServer` in place of a started process where `sandbox.py`, which asks `can_fork`, lets
it. This is only for checking one's own file, because a forked server differs from a started one (`server_command.py`):

- Its memory holds everything that this process holds, answers included.
- It cannot be isolated. It is like a server that was started without isolation: not in bubblewrap; its children have no
  namespaces, no /tmp of their own and no filter of system calls; of the limits, those marked † in grader/LIMITS.md do
  not hold.
- It keeps this interpreter's import path and options.
- Environment variables that are read when a process starts (PYTHONHASHSEED, GLIBC_TUNABLES) or when torch and numpy are
  imported (OMP_NUM_THREADS) have no effect.
- If the grader is killed while the server starts, the server ends only when it next uses its control socket: it does
  not call `isolation.exit_on_hangup`. That is soon, because `grader check`, which forks, has imported torch before.
"""

import math
import os
import signal
import socket
import subprocess
import sys
import threading
import time
import traceback
from typing import IO, NoReturn

from grader.sandbox.inside.protocol import CONTROL_FD
from grader.sandbox.server_command import server_environment

_POLL_SECONDS = 0.002
"""Time between two checks whether the server has ended, in `ForkedServer.wait`: an end takes a few milliseconds."""


def can_fork(device: str) -> bool:
    """Return True if a fork of this process can serve: on Linux, for the CPU, with one Python thread and no GPU in use.

    Another Python thread might hold a lock, which would stay locked for ever in the fork. Threads that torch's
    computations have started do no harm: the server computes with one thread (`server.py _warm`).

    A GPU counts as in use if this process has imported torch and torch sees one. There a backward pass starts threads
    even on the CPU, and after one in this process no fork of it can run another
    (https://github.com/pytorch/pytorch/wiki/Autograd-and-Fork).

    Args:
        device: device on which submissions will run, `cpu` or `cuda`.
    """
    if sys.platform != "linux" or device != "cpu" or threading.active_count() != 1:
        return False
    return not _sees_a_gpu()


def _sees_a_gpu() -> bool:
    """Return True if this process has imported torch, and torch finds a GPU (before torch 2.6: one of CUDA)."""
    torch = sys.modules.get("torch")
    if torch is None:
        return False
    accelerator = getattr(torch, "accelerator", torch.cuda)
    return bool(accelerator.is_available())


class ForkedServer:
    """A fork of this process that serves; has the methods of `subprocess.Popen` that `ServerProcess` calls."""

    def __init__(self, server_end: socket.socket, error_file: IO[bytes], own_folder: str) -> None:
        """Fork; in the fork, serve on the CPU until the other end of the socket is closed, and never return.

        The caller makes sure that `can_fork("cpu")` is true at this moment.

        Args:
            server_end: the server's end of the control socket.
            error_file: receives the server's standard error.
            own_folder: the server's working directory, HOME and TMPDIR.
        """
        self._ended = False
        self.pid = os.fork()
        if self.pid == 0:
            _become_server(server_end, error_file, own_folder)

    def poll(self) -> int | None:
        """Return None while the process runs, then 0. The exit status is not kept, because `ServerProcess` does not use
        it."""
        if not self._ended:
            try:
                ended_pid, _ = os.waitpid(self.pid, os.WNOHANG)
                self._ended = ended_pid != 0  # 0: it still runs
            except ChildProcessError:  # it has ended, and something else in this process has waited for it
                self._ended = True
        return 0 if self._ended else None

    def kill(self) -> None:
        """Kill the process at once, if it still runs."""
        if self.poll() is None:
            os.kill(self.pid, signal.SIGKILL)

    def wait(self, timeout: float = math.inf) -> None:
        """Wait up to `timeout` seconds for the process to end.

        Raises:
            subprocess.TimeoutExpired: it is still running.
        """
        deadline = time.monotonic() + timeout
        while self.poll() is None:
            if time.monotonic() > deadline:
                raise subprocess.TimeoutExpired("server", timeout)
            time.sleep(_POLL_SECONDS)


def _become_server(server_end: socket.socket, error_file: IO[bytes], own_folder: str) -> NoReturn:
    """Serve in the forked process, then exit. Keep open only the control socket, the error file and /dev/null."""
    # Everything stands in the `try`: an exception that left this function would go on into the grader's code, in a
    # second copy of the grader.
    try:
        import fcntl  # only here: Windows, where nothing is forked, lacks it

        os.setsid()  # Ctrl-C in the terminal must reach only the parent
        os.chdir(own_folder)
        null_device = os.open(os.devnull, os.O_RDWR)
        # If the grader was started with standard descriptors closed, these may have their numbers: then one would
        # overwrite another. So each is copied to a number above them first.
        control, null_device, errors = (
            fcntl.fcntl(descriptor, fcntl.F_DUPFD, 3)
            for descriptor in (server_end.fileno(), null_device, error_file.fileno())
        )
        os.dup2(control, CONTROL_FD)  # standard input
        os.dup2(null_device, 1)
        os.dup2(errors, 2)
        # This also closes our copy of the parent's end of the socket. As long as a copy is open, the server never sees
        # that the socket was closed.
        os.closerange(3, os.sysconf("SC_OPEN_MAX"))
        os.environ.clear()
        os.environ.update(server_environment("cpu", own_folder))
        # Imported only here: it imports torch, which not every process that imports this module needs.
        from grader.sandbox.inside import server

        server.main()
    except BaseException:
        traceback.print_exc()
        sys.stderr.flush()
    finally:
        os._exit(0)
