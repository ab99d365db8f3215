"""Ends a server that is still starting when nobody waits for it any more.

A started server notices the closed control socket by itself. One that imports torch looks at nothing for seconds:
whoever was killed beside it would leave it behind that long.
"""

import fcntl
import os
import select
import signal
from typing import Any


def heed(fd: int) -> None:
    """From now on, end this process when the other end of the socket `fd` is closed (or has been)."""
    if not hasattr(select, "POLLRDHUP"):  # not Linux: the server notices it once it is warm
        return

    def look(_number: int, _frame: Any) -> None:
        poll = select.poll()
        poll.register(fd, select.POLLRDHUP)
        if poll.poll(0):
            os._exit(0)

    signal.signal(signal.SIGIO, look)
    signal.siginterrupt(signal.SIGIO, False)  # what is sent to us raises it too, in the middle of anything
    fcntl.fcntl(fd, fcntl.F_SETOWN, os.getpid())
    fcntl.fcntl(fd, fcntl.F_SETFL, fcntl.fcntl(fd, fcntl.F_GETFL) | os.O_ASYNC)
    look(signal.SIGIO, None)


def heed_no_more(fd: int) -> None:
    """Take back `heed`, before anything is forked: a fork would be ended too."""
    if hasattr(select, "POLLRDHUP"):
        fcntl.fcntl(fd, fcntl.F_SETFL, fcntl.fcntl(fd, fcntl.F_GETFL) & ~os.O_ASYNC)
        signal.signal(signal.SIGIO, signal.SIG_DFL)
