"""Tune the garbage collector for large imports: torch and what its first optimizer loads are half a million objects."""

import gc
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def without_gc_for_good() -> Iterator[None]:
    """Exclude all objects made inside from garbage collection, for good, because imported modules are never garbage.

    Searching them again and again takes a fifth of torch's import, and half a second more at the process's end. Also, a
    collection in a process forked afterwards does not touch, and so copy, their memory.
    """
    was = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        gc.freeze()
        if was:
            gc.enable()


def collect_less_often() -> None:
    """Collect garbage less often (every 20,000 new objects), for a process that plays many programs.

    A play leaves some thousand small objects in reference cycles (models, hooks, recorders). Searching for them at
    every 700th new object, Python's default, took a twentieth of the time.
    """
    gc.set_threshold(20_000)
