"""Fork this process to serve as the sandbox's server, which saves the seconds that importing torch again would take.

This is only for checking one's own file: the memory of the forked server holds everything that this process holds,
answers included. A forked server differs from a started one (`server_command`) in three more ways, which do no harm to
a file of one's own:

- It keeps this interpreter's import path and options.
- Environment variables that are read when a process starts, such as PYTHONHASHSEED and GLIBC_TUNABLES, have no effect.
- It does not call `isolation.exit_on_hangup`: torch is usually imported already, so it soon reads its control socket.
"""

import os
import signal
import socket
import subprocess
import sys
import threading
import time
import traceback
from typing import IO, NoReturn

from grader.sandbox.server_command import server_environment


def can_fork(device: str) -> bool:
    """Return True if a fork of this process can serve: on Linux, for the CPU, with one Python thread and without a GPU.

    Another thread might hold a lock, which would stay locked for ever in the fork. Where torch sees a GPU, a backward
    pass starts threads, even on the CPU. After a backward pass with those threads, no fork can run one
    (https://github.com/pytorch/pytorch/wiki/Autograd-and-Fork).

    Args:
        device: device on which submissions will run, `cpu` or `cuda`.
    """
    if sys.platform != "linux" or device != "cpu" or threading.active_count() != 1:
        return False
    return not _sees_a_gpu()


def _sees_a_gpu() -> bool:
    """Return True if this process has imported torch, and torch finds a GPU of any kind that is not hidden from it."""
    torch = sys.modules.get("torch")
    if torch is None:
        return False
    accelerator = getattr(torch, "accelerator", torch.cuda)  # `torch.accelerator` exists from 2.6 on
    return bool(accelerator.is_available())


class ForkedProcess:
    """A fork of this process that serves. It has what `ServerProcess` needs of `subprocess.Popen`'s interface."""

    def __init__(self, control: socket.socket, errors: IO[bytes], own_folder: str) -> None:
        """Fork; in the fork, serve on the CPU until the other end of `control` is closed, and never return.

        The caller makes sure that `can_fork("cpu")` is true at this moment.

        Args:
            control: the server's end of the control socket.
            errors: file that receives the server's standard error.
            own_folder: the server's working directory, HOME and TMPDIR.
        """
        self._ended = False
        self.pid = os.fork()
        if self.pid == 0:
            _become_server(control, errors, own_folder)

    def poll(self) -> int | None:
        """Return None while the process runs, then 0, whatever its exit status: `ServerProcess` does not read it."""
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


def _become_server(control: socket.socket, errors: IO[bytes], own_folder: str) -> NoReturn:
    """Serve in the forked process, with no open files but the control socket and the error file, then exit."""
    # Everything stands in the `try`: an exception raised outside of it would return to the grader's code, which would
    # then run twice: in the grader and in its fork.
    try:
        # Imported only here, because it needs torch, which a grader that starts its server by the command does without.
        from grader.sandbox.inside import server

        os.setsid()  # Ctrl-C in the terminal must reach only the parent
        os.chdir(own_folder)
        null_device = os.open(os.devnull, os.O_RDWR)
        os.dup2(control.fileno(), server.CONTROL_FD)
        os.dup2(null_device, 1)
        os.dup2(errors.fileno(), 2)
        # This also closes our copy of the parent's end of the socket. As long as a copy is open, the server never sees
        # that the socket was closed.
        os.closerange(3, os.sysconf("SC_OPEN_MAX"))
        os.environ.clear()
        os.environ.update(server_environment("cpu", own_folder))
        server.main()
    except BaseException:
        traceback.print_exc()
        sys.stderr.flush()
    finally:
        os._exit(0)
