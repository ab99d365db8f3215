"""Random numbers that follow from a scenario's seed."""

import torch

from grader.observe.play import Env


class Draw:
    """Whole numbers and fractions from one generator."""

    def __init__(self, env: Env, salt: str) -> None:
        self._generator = env.generator(salt)

    def whole(self, low: int, high: int) -> int:
        """From low to high, both included."""
        return int(torch.randint(low, high + 1, (1,), generator=self._generator))

    def real(self, low: float, high: float) -> float:
        """Between low and high."""
        return low + (high - low) * float(torch.rand(1, generator=self._generator, dtype=torch.float64))
