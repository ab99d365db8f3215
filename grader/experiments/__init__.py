"""What lessons' notebooks import: data, models, runs to compare, tables of experiments; a module for each lesson.

A notebook shows the few lines that are the idea of an experiment; what only makes it run is here. Submissions cannot
import it: imports from here are left out when a notebook is graded (`submission/statements.py`), because an experiment
may show the answer to an exercise.
"""
