"""Provide what a learner calls in a notebook (check, hint, predict, progress, microscope) and `grader watch`."""
