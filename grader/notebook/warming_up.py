"""Say that `grader watch` is loading PyTorch, which takes seconds, and keep the keys that are pressed meanwhile.

Imports nothing slow. The threads in here have ended when loading has: the sandbox's server may be a fork of this
process.
"""

import _thread
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.console import Console

_LOOK_SECONDS = 0.1
"""Time between looking for keys."""
_LOADING = "PyTorch를 불러오는 중이에요. 처음에는 10초 넘게 걸려요. 키는 지금 눌러도 돼요 (q 끝내기)."
_KEPT = "PyTorch를 불러오는 중이에요. {} 키를 받아 두었어요 (q 끝내기)."


class EarlyKeys:
    """The keys of a terminal, from before anything was loaded on."""

    def __init__(self, pressed: Callable[[], str]) -> None:
        self._pressed, self._waiting = pressed, ""
        self.quit = False
        """True if the learner has quit while it was loading."""

    def __call__(self) -> str:
        """Return the keys pressed since the last call, those pressed while it was loading included."""
        keys, self._waiting = self._waiting + self._pressed(), ""
        return keys

    @contextmanager
    def while_loading(self, console: Console) -> Iterator[None]:
        """Show that it is loading; q ends what is done inside, and then nothing is raised."""
        over = threading.Event()

        def listen() -> None:
            while not over.wait(_LOOK_SECONDS):
                if not (keys := self._pressed()):
                    continue
                self._waiting += keys
                if "q" in keys:
                    self.quit = True
                    _thread.interrupt_main()
                    return
                status.update(_KEPT.format(self._waiting[-1]))

        listener = threading.Thread(target=listen, daemon=True)
        try:
            with console.status(_LOADING) as status:
                listener.start()
                try:
                    yield
                finally:
                    over.set()
                    listener.join()
        except KeyboardInterrupt:
            if not self.quit:
                raise
