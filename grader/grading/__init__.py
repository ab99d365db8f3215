"""Grade one submission or one function: play it, judge its trace, explain it. Used by notebooks and by `classroom`."""

SEED = 1
"""Seed of the scenarios when a learner checks, so that every check shows the same numbers. Grading a class draws a
fresh seed."""
