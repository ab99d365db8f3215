"""A server that is forked from this process instead of started: it has torch already, and costs no second start.

For one's own file only: the server has everything in its memory that this process has.
"""

import os
import signal
import socket
import subprocess
import sys
import threading
import time
import traceback
from contextlib import suppress
from typing import IO, NoReturn

from grader.sandbox import bubblewrap


def can_fork(device: str) -> bool:
    """Whether a fork of this process can serve: nobody else's lock is held, and no GPU is in sight.

    Where one is, a process that has run a backward pass, on the CPU too, cannot fork one that runs another.
    """
    single = sys.platform == "linux" and device == "cpu" and threading.active_count() == 1
    return single and not _sees_a_gpu()


def _sees_a_gpu() -> bool:
    """Whether torch, if it is imported here, finds a GPU of any kind; false in a process that hides them."""
    torch = sys.modules.get("torch")
    if torch is None:
        return False
    accelerator = getattr(torch, "accelerator", torch.cuda)  # from torch 2.6 on
    return bool(accelerator.is_available())


class ForkedServer:
    """As much of `subprocess.Popen` as the client needs."""

    def __init__(self, control: socket.socket, errors: IO[bytes], home: str, device: str) -> None:
        """Fork; in the child, serve until the other end of `control` is closed."""
        self._ended = False
        self.pid = os.fork()
        if self.pid == 0:
            _become_server(control, errors, home, device)

    def poll(self) -> int | None:
        """0 when it has ended, else None."""
        if not self._ended:
            with suppress(ChildProcessError):
                self._ended = os.waitpid(self.pid, os.WNOHANG)[0] != 0
        return 0 if self._ended else None

    def kill(self) -> None:
        """End it at once."""
        if self.poll() is None:
            os.kill(self.pid, signal.SIGKILL)

    def wait(self, timeout: float = 60.0) -> None:
        """Wait for its end.

        Raises:
            subprocess.TimeoutExpired: it goes on.
        """
        deadline = time.monotonic() + timeout
        while self.poll() is None:
            if time.monotonic() > deadline:
                raise subprocess.TimeoutExpired("server", timeout)
            time.sleep(0.002)


def _become_server(control: socket.socket, errors: IO[bytes], home: str, device: str) -> NoReturn:
    from grader.sandbox.inside import server  # who forks has torch already; who starts a server does without

    try:
        os.setsid()  # Ctrl-C is the parent's
        os.chdir(home)
        nowhere = os.open(os.devnull, os.O_RDWR)
        os.dup2(control.fileno(), server.CONTROL_FD)
        os.dup2(nowhere, 1)
        os.dup2(errors.fileno(), 2)
        os.closerange(
            3, os.sysconf("SC_OPEN_MAX")
        )  # with the parent's end of the socket, or it would never close
        os.environ.clear()
        os.environ.update(bubblewrap.environment(device, home))
        server.main()
    except BaseException:
        traceback.print_exc()
        sys.stderr.flush()
    finally:
        os._exit(0)
