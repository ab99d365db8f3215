"""`python -m tests.golden [EXERCISE …]`: makes the transcripts anew."""

import sys

from grader.course_files import load_course
from tests.golden.transcripts import write

for name in sys.argv[1:] or load_course().exercises:
    write(load_course().exercise(name))
