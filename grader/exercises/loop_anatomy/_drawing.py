"""Draw numbers that a learner cannot know beforehand: the settings, seeds and step counts of this lesson."""

import torch

from grader.observe.play import Env


def drawn_number(env: Env, salt: str, low: int, high: int) -> int:
    """Return a whole number, at least `low` and below `high`."""
    return int(torch.randint(low, high, (), generator=env.generator(salt)))
