"""Draw random numbers that follow from a scenario's seed."""

import torch

from grader.observe.play import Env


class Draw:
    """A source of whole numbers and fractions; one for each scenario and salt."""

    def __init__(self, env: Env, salt: str) -> None:
        self._generator = env.generator(salt)

    def whole(self, low: int, high: int) -> int:
        """Return a whole number from `low` to `high`, both included."""
        return int(torch.randint(low, high + 1, (1,), generator=self._generator))

    def real(self, low: float, high: float) -> float:
        """Return a fraction between `low` and `high`."""
        return low + (high - low) * float(torch.rand(1, generator=self._generator, dtype=torch.float64))
