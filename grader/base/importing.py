"""Imports of much that stays: torch and what its first optimizer brings make half a million objects."""

import gc
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def uncollected() -> Iterator[None]:
    """Keep the garbage collector out of what is made inside, for good: nothing of it will ever be garbage.

    Looking through it again and again takes a fifth of torch's import, and a half second more at the process' end. A
    process forked afterwards does not copy it by looking either.
    """
    was = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        gc.freeze()
        if was:
            gc.enable()


def collect_seldom() -> None:
    """For a process that plays many programs: let garbage gather before it is looked for.

    A play leaves some thousand small objects in circles (models, hooks, what watches them). Looking for them at every
    700th new object took a twentieth of the time.
    """
    gc.set_threshold(20_000)
