"""Run one function for several seeds in the same processes: starting a pair takes longer than most of its runs."""

from collections.abc import Callable, Sequence
from typing import Any

from grader.experiments.several_processes.processes import run_ranks

SEEDS = tuple(range(6))
"""The seeds over which the lesson's claims are measured."""


def run_seeds(
    function: Callable[..., Any], *arguments: object, world: int = 2, seeds: Sequence[int] = SEEDS
) -> list[list[Any]]:
    """Call `function(rank, world, seed, *arguments)` for each seed, one after another, in one group of processes.

    Returns:
        For each seed, what each rank returned, in the order of the ranks.
    """

    def one_rank(rank: int, world: int) -> list[Any]:
        return [function(rank, world, seed, *arguments) for seed in seeds]

    return [list(ranks) for ranks in zip(*run_ranks(one_rank, world=world), strict=True)]
