"""Grade one submission or one function: play it, judge its trace, explain it.

`grade_submission.py` grades a submission in a sandbox (`classroom/`), `own_file.py` a learner's own file (`grader check
FILE`), `in_process.py` a function in this process (`check` in a notebook, and files on Windows).
"""

SEED = 1
"""Seed of the scenarios when a learner checks, so that every check shows the same numbers. Grading a class draws a
fresh seed."""
