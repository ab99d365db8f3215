"""Fork the sandbox's server from this process instead of starting it: torch is imported already, which saves a start.

Only for checking one's own file: the forked server's memory holds everything that this process holds, answers included.
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

from grader.sandbox.server_command import server_environment


def can_fork(device: str) -> bool:
    """True if a fork of this process can serve: no other thread could hold a lock, and torch sees no GPU.

    Where torch sees a GPU, a fork of a process that has run a backward pass, even on the CPU, cannot run another.
    """
    single = sys.platform == "linux" and device == "cpu" and threading.active_count() == 1
    return single and not _sees_a_gpu()


def _sees_a_gpu() -> bool:
    """True if torch is imported here and finds a GPU of any kind; False in a process from which GPUs are hidden."""
    torch = sys.modules.get("torch")
    if torch is None:
        return False
    accelerator = getattr(torch, "accelerator", torch.cuda)  # from torch 2.6 on
    return bool(accelerator.is_available())


class ForkedServer:
    """A forked server, with as much of the interface of `subprocess.Popen` as `Server` needs."""

    def __init__(self, control: socket.socket, errors: IO[bytes], home: str, device: str) -> None:
        """Fork; in the child, serve until the other end of `control` is closed.

        Args:
            control: the server's end of the control socket.
            errors: file that receives the server's standard error.
            home: working directory.
            device: `cpu`; see `can_fork`.
        """
        self._ended = False
        self.pid = os.fork()
        if self.pid == 0:
            _become_server(control, errors, home, device)

    def poll(self) -> int | None:
        """Return 0 if the process has ended, else None."""
        if not self._ended:
            with suppress(ChildProcessError):
                self._ended = os.waitpid(self.pid, os.WNOHANG)[0] != 0
        return 0 if self._ended else None

    def kill(self) -> None:
        """Kill the process at once."""
        if self.poll() is None:
            os.kill(self.pid, signal.SIGKILL)

    def wait(self, timeout: float = 60.0) -> None:
        """Wait up to `timeout` seconds for the process to end.

        Raises:
            subprocess.TimeoutExpired: it is still running.
        """
        deadline = time.monotonic() + timeout
        while self.poll() is None:
            if time.monotonic() > deadline:
                raise subprocess.TimeoutExpired("server", timeout)
            time.sleep(0.002)


def _become_server(control: socket.socket, errors: IO[bytes], home: str, device: str) -> NoReturn:
    """In the forked process: keep only the control socket and the error file, then serve; never returns."""
    # Imported here: a process that forks has torch already, but one that starts a server must not need it.
    from grader.sandbox.inside import server

    try:
        os.setsid()  # Ctrl-C in the terminal must reach only the parent
        os.chdir(home)
        nowhere = os.open(os.devnull, os.O_RDWR)
        os.dup2(control.fileno(), server.CONTROL_FD)
        os.dup2(nowhere, 1)
        os.dup2(errors.fileno(), 2)
        # Including the parent's end of the socket: otherwise its closing would never be noticed
        os.closerange(3, os.sysconf("SC_OPEN_MAX"))
        os.environ.clear()
        os.environ.update(server_environment(device, home))
        server.main()
    except BaseException:
        traceback.print_exc()
        sys.stderr.flush()
    finally:
        os._exit(0)
