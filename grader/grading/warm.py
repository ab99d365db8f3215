"""Import this module to load everything that grading needs into the process, while its sandbox warms up.

CUDA is not initialized, and nothing is computed that would start threads, because the process may be forked afterwards.
"""

from contextlib import suppress

from grader.base.errors import HanstepError
from grader.base.importing import collect_less_often, without_gc_for_good

with without_gc_for_good():
    import torch

    from grader.course.reading import load_course
    from grader.sandbox.inside.uncompiled import leave_the_compiler_out

    torch.set_num_threads(1)  # each core has a worker process of its own
    leave_the_compiler_out()
    with suppress(HanstepError):  # raised again where the course is used
        load_course()

collect_less_often()
