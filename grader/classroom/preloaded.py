"""Importing it brings into the process what workers are forked with: enough to start a sandbox, and no torch.

A worker imports torch (`warm`) while the server of its sandbox does the same: on two processors both are there in the
time of one.
"""

from grader.importing import uncollected

with uncollected():
    import grader.classroom.outcomes  # noqa: F401
