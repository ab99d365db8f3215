"""Exceptions and statuses for a child of the sandbox that ended before it had answered."""

from typing import Literal

Status = Literal["ran", "timeout", "memory", "crashed", "output"]
"""Status of one exercise's run: `crashed` means that the process died, `output` that it printed too much."""
WAITED = "기다리기만 함"
"""Detail of a timeout by wall time: the code waited rather than computed."""


class Ended(Exception):
    """The child ended, or was ended, before it had answered. `detail` is Korean."""

    def __init__(self, status: Status, detail: str = "") -> None:
        super().__init__(status, detail)
        self.status, self.detail = status, detail


class UnexpectedFrame(Ended):
    """The child sent a frame that nobody had asked for: a forged one, perhaps from a program it executed earlier."""

    def __init__(self) -> None:
        super().__init__("crashed", "요청하지 않은 응답")


class ServerGone(Ended):
    """Something outside killed the server or the keeper that watches the child; nothing that a child does can."""

    def __init__(self) -> None:
        super().__init__("crashed")
