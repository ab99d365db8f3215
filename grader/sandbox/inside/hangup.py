"""End a server that is still starting when the process that started it is gone.

A running server notices the closed control socket by itself. A starting one imports torch and reads nothing for
seconds: if the grader were killed meanwhile, the server would be left behind for that long.
"""

import fcntl
import os
import select
import signal
from typing import Any


def exit_on_hangup(fd: int) -> None:
    """End this process as soon as the other end of the socket `fd` is closed, or at once if it is closed already."""
    # Not Linux: once it is warm, the server notices the closed socket itself
    if not hasattr(select, "POLLRDHUP"):
        return

    def look(_number: int, _frame: Any) -> None:
        poll = select.poll()
        poll.register(fd, select.POLLRDHUP)
        if poll.poll(0):
            os._exit(0)

    signal.signal(signal.SIGIO, look)
    # Data that arrives raises the signal too: system calls that it interrupts are begun again.
    signal.siginterrupt(signal.SIGIO, False)
    fcntl.fcntl(fd, fcntl.F_SETOWN, os.getpid())
    fcntl.fcntl(fd, fcntl.F_SETFL, fcntl.fcntl(fd, fcntl.F_GETFL) | os.O_ASYNC)
    look(signal.SIGIO, None)


def stop_watching_hangup(fd: int) -> None:
    """Undo `exit_on_hangup`: from now on the server reads the socket and notices its end by itself.

    The socket is silenced first, because the default action of SIGIO ends a process.
    """
    if hasattr(select, "POLLRDHUP"):
        fcntl.fcntl(fd, fcntl.F_SETFL, fcntl.fcntl(fd, fcntl.F_GETFL) & ~os.O_ASYNC)
        signal.signal(signal.SIGIO, signal.SIG_DFL)
