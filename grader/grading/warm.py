"""Importing it brings into the process what grading needs: done while the process's sandbox warms up.

CUDA is not touched, nor is anything computed that would start threads: a process may be forked afterwards.
"""

from contextlib import suppress

from grader.base.errors import HanstepError
from grader.base.importing import collect_seldom, uncollected

with uncollected():
    import torch

    from grader.course.reading import load_course
    from grader.sandbox.inside.uncompiled import leave_the_compiler_out

    torch.set_num_threads(1)  # there is a worker for each core
    leave_the_compiler_out()
    with suppress(HanstepError):  # told by whoever reads the course in order to use it
        load_course()

collect_seldom()
