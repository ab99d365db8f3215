"""Loads, when it is imported, what a worker needs: a test has the fork server do it once for all workers."""

from grader.grading.warm import warm_up

warm_up()
