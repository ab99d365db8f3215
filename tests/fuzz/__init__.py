"""Random classes that are made to end a grading run: `python -m tests.fuzz --minutes 10 --seed 1`."""
