"""Importing it brings into the process what workers are forked with: torch, and nothing that would be waited for.

What else a worker needs it imports while its sandbox warms up (`warm`): waiting for that too would delay the first
result.
"""

from grader.importing import uncollected

with uncollected():
    import grader.classroom.grading  # noqa: F401
