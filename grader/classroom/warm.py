"""Importing it brings into the process what grading needs: done while the process's sandbox warms up.

CUDA is not touched, nor is anything computed that would start threads: a process may be forked afterwards.
"""

from contextlib import suppress

from grader.errors import HanstepError
from grader.importing import uncollected

with uncollected():
    import torch

    from grader.course_files import load_course

    torch.set_num_threads(1)  # there is a worker for each core
    _parameter = torch.nn.Parameter(torch.zeros(1))
    _optimizer = torch.optim.AdamW([_parameter])  # its first construction imports for a second
    _parameter.grad = torch.zeros(1)
    _optimizer.step()
    with suppress(HanstepError):  # told by whoever reads the course in order to use it
        load_course()
