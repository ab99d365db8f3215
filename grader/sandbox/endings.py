"""How a child comes to an end before it has answered, as the client tells it."""

from typing import Literal

Status = Literal["ran", "timeout", "memory", "crashed", "output"]
WAITED = "기다리기만 함"
"""Detail of a timeout of code that hardly computed."""


class Ended(Exception):
    """The child was ended, or ended by itself, before it had answered."""

    def __init__(self, status: Status, detail: str = "") -> None:
        super().__init__(status, detail)
        self.status, self.detail = status, detail


class Unasked(Ended):
    """It answered what nobody had asked: forged frames, perhaps of a program that it executed earlier."""

    def __init__(self) -> None:
        super().__init__("crashed", "요청하지 않은 응답")


class ServerGone(Ended):
    """Something outside killed the server, or what watches the child: nothing that a child does can."""

    def __init__(self) -> None:
        super().__init__("crashed")
