"""Load what grading needs into a process, and tune the garbage collector for torch's half a million objects.

`warm_up` is called in workers of a class, by `grader check FILE` and by `grader drill`; `cli/` imports slow modules in
`without_gc_for_good`. The sandbox's server warms itself up (`sandbox/inside/server.py _warm`).
"""

import gc
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import cache

from grader.base.errors import HanstepError


@contextmanager
def without_gc_for_good() -> Iterator[None]:
    """Exclude all objects made inside from garbage collection, for good, because imported modules are never garbage.

    Searching them again and again takes a fifth of torch's import, and half a second more at the process's end. Also, a
    collection in a process forked afterwards does not touch, and so copy, their memory.
    """
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        gc.freeze()
        if was_enabled:
            gc.enable()


@cache
def warm_up() -> None:
    """Load everything that grading needs into this process, once; call it while a sandbox warms up.

    CUDA is not initialized, and nothing is computed that would start threads, because the process may be forked
    afterwards.
    """
    with without_gc_for_good():
        import torch

        from grader.course.reading import load_course
        from grader.sandbox.inside.compiler_stand_in import install_stand_ins

        torch.set_num_threads(1)  # each core has a worker process of its own
        install_stand_ins()
        with suppress(HanstepError):  # raised again where the course is used
            load_course()
    # Python's default is 700 new objects. A play leaves some thousand small objects in reference cycles (models, hooks,
    # recorders), and searching for them so often took a twentieth of the time.
    gc.set_threshold(20_000)
