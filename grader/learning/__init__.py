"""What a learner uses: check and hint in a notebook, progress, the folder of lessons."""

SEED = 1
"""A learner gets the same numbers at every check; grading draws fresh ones."""
