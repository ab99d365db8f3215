"""The three parts that lesson 02's last notebooks borrow instead of asking for what was written before.

They cannot be handed in: imports from here are left out when a notebook is graded.
"""

from grader.exercises.fixtures.lent import LentCheckpoint as BestCheckpoint
from grader.exercises.fixtures.lent import lent_seed_everything as seed_everything
from grader.exercises.fixtures.lent import lent_warmup_cosine as warmup_cosine

__all__ = ["BestCheckpoint", "seed_everything", "warmup_cosine"]
