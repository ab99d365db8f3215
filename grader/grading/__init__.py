"""Grades one submission or one function: play it, judge what was observed, explain it. Below notebook and class."""

SEED = 1
"""A learner gets the same numbers at every check; grading a class draws fresh ones."""
