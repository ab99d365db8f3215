"""What the docstring of `newton_schulz` says of singular values holds for its solution, in float64."""

from collections.abc import Callable, Iterator

import pytest
import torch

from grader.judging.solution import solution_source
from grader.observe.program import load_program

Levelled = Callable[..., torch.Tensor]


@pytest.fixture(scope="module")
def newton_schulz() -> Iterator[Levelled]:
    program = load_program(solution_source("06"), name="lesson_06_in_test")
    yield program.names["newton_schulz"]
    program.unload()


@pytest.mark.parametrize("shape", [(16, 16), (40, 12), (12, 40), (1, 5)])
def test_it_keeps_the_directions_and_levels_the_singular_values(
    newton_schulz: Levelled, shape: tuple[int, int]
) -> None:
    matrix = torch.randn(shape, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    left, values, right = torch.linalg.svd(matrix, full_matrices=False)
    inside = left.mT @ newton_schulz(matrix) @ right.mT
    # The polynomial multiplies rounding errors by at most 3.4445⁵, about 500.
    assert (inside - inside.diag().diag()).abs().max() < 1e-9
    counted = inside.diag()[values / matrix.norm() > 0.002]
    assert 0.68 < counted.min() <= counted.max() < 1.21


def test_every_value_above_the_named_one_is_levelled(newton_schulz: Levelled) -> None:
    """On a diagonal, each value from 0.002 to 1 of a norm of 1 goes its own way."""
    for value in torch.linspace(0.002, 1, 500, dtype=torch.float64):
        rest = torch.sqrt(1 - value**2)
        levelled = newton_schulz(torch.stack([value, rest]).diag()).diag()
        assert 0.68 < levelled[0] < 1.21
