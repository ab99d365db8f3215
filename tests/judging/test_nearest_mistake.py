"""A program in which no mistake can be named is said to be near one only if it is near it wherever it is wrong."""

from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import cast

import numpy as np
import pytest

from grader.judging.compare_runs import Difference, find_difference
from grader.judging.nearest_mistake import nearest_mistake
from grader.judging.reference import Reference
from grader.observe.trace import Run

ATOL = 1e-6


class Driver(dict[str, SimpleNamespace]):
    """Two scenarios."""

    def __init__(self) -> None:
        super().__init__({name: SimpleNamespace(name=name, atol=ATOL) for name in ("first", "second")})
        self.scenarios = tuple(self.values())


@dataclass
class FewMistakes:
    """A reference whose solution gives zeros or `right`, and whose mistakes give the rows written here."""

    mistakes: dict[str, dict[str, list[list[float]]]]
    right: tuple[float, float] = (0.0, 0.0)
    """The solution's second row."""
    exercise: SimpleNamespace = field(default_factory=lambda: SimpleNamespace(driver=Driver()))

    @property
    def variants(self) -> list[SimpleNamespace]:
        return [SimpleNamespace(name=name, mistake=name, copy=0) for name in self.mistakes]

    @property
    def sources(self) -> dict[str, str]:
        return {name: name for name in self.mistakes}

    def solution_run(self, scenario: str) -> Run:
        return run([[0.0, 0.0], [*self.right]])

    def complete_run(self, source: str, scenario: str) -> Run:
        rows = self.mistakes[source].get(scenario)
        return self.solution_run(scenario) if rows is None else run(rows)

    def behaviour(self, variant: SimpleNamespace, scenario: str) -> int:
        return int(scenario in self.mistakes[variant.name])


def run(rows: list[list[float]]) -> Run:
    return Run(arrays={"theta": np.array(rows)})


def nearest(of: FewMistakes, **rows: list[list[float]]) -> str | None:
    """Return the mistake nearest to a program that gives these rows, in scenarios where it is wrong."""
    runs = {name: run(rows[name]) if name in rows else of.solution_run(name) for name in ("first", "second")}
    found = {name: find_difference(one, of.solution_run(name), ATOL) for name, one in runs.items()}
    wrong: dict[str, Difference] = {name: one for name, one in found.items() if one is not None}
    return cast("str | None", nearest_mistake(cast("Reference", of), runs, wrong))


def test_of_two_near_mistakes_the_nearer_one() -> None:
    of = FewMistakes({"far": {"first": [[0, 0], [8, 0]]}, "near": {"first": [[0, 0], [9, 0]]}})
    assert nearest(of, first=[[0, 0], [10, 0]]) == "near"


@pytest.mark.parametrize(("value", "told"), [(5.1, "it"), (5.0, None), (4.9, None)])
def test_it_has_to_be_twice_as_near_as_the_solution(value: float, told: str | None) -> None:
    of = FewMistakes({"it": {"first": [[0, 0], [value, 0]]}})
    assert nearest(of, first=[[0, 0], [10, 0]]) == told


def test_one_far_scenario_is_enough_to_be_far() -> None:
    of = FewMistakes({"it": {"first": [[0, 0], [10, 0]], "second": [[0, 0], [3, 0]]}})
    assert nearest(of, first=[[0, 0], [10, 0]], second=[[0, 0], [10, 0]]) is None


def test_a_mistake_that_changes_other_scenarios_is_not_near() -> None:
    of = FewMistakes({"more": {"first": [[0, 0], [10, 0]], "second": [[0, 0], [1, 0]]}})
    assert nearest(of, first=[[0, 0], [10, 0]]) is None


def test_it_has_to_differ_first_in_the_same_row() -> None:
    of = FewMistakes({"earlier": {"first": [[1, 0], [10, 0]]}})
    assert nearest(of, first=[[0, 0], [10, 0]]) is None


@pytest.mark.parametrize(("value", "told"), [(0.5, "small"), (0.0, None)])
def test_zeros_are_near_nothing(value: float, told: str | None) -> None:
    """Whatever makes the numbers small would be near."""
    of = FewMistakes({"small": {"first": [[0, 0], [1, 0]]}}, right=(10.0, 0.0))
    assert nearest(of, first=[[0, 0], [value, 0]]) == told


@pytest.mark.parametrize("value", [np.inf, np.nan])
def test_numbers_that_are_not_finite_are_near_nothing(value: float) -> None:
    of = FewMistakes({"it": {"first": [[0, 0], [value, 0]]}})
    assert nearest(of, first=[[0, 0], [value, 0]]) is None


def test_numbers_too_large_to_measure_are_far() -> None:
    """Their difference is infinite, and infinity by infinity is no number."""
    of = FewMistakes({"it": {"first": [[0, 0], [-1.5e308, 0]]}})
    assert nearest(of, first=[[0, 0], [1.5e308, 1.5e308]]) is None
