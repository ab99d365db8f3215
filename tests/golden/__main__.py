"""`python -m tests.golden [EXERCISE …]`: makes the transcripts anew."""

import sys

import torch

from grader.base.errors import HanstepError
from grader.course.reading import load_course
from tests.golden.transcripts import write

torch.set_num_threads(1)  # the models are tiny: more threads only wait for each other
try:
    for name in sys.argv[1:] or load_course().exercises:
        write(load_course().exercise(name))
except HanstepError as error:
    sys.exit(str(error))
