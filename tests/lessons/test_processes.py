"""Real processes for the notebooks of lesson 05."""

import pytest
import torch
import torch.distributed as dist

from grader.experiments.several_processes.processes import RankError, run_ranks


def _sum_of_ranks(rank: int, world: int, factor: float) -> torch.Tensor:
    mine = torch.tensor([factor * (rank + 1)], dtype=torch.float64)
    dist.all_reduce(mine)
    return mine


def test_ranks_form_a_group_and_answer_in_order() -> None:
    """Each rank has the sum of what all ranks gave."""
    answers = run_ranks(_sum_of_ranks, 2.0, world=2)
    assert [answer.item() for answer in answers] == [6.0, 6.0]


def test_exception_of_a_rank_is_told() -> None:
    """The rank and its message are named, also when the partner still waits for it."""

    def fails_on_one(rank: int, world: int) -> None:
        if rank == 1:
            raise ValueError("x")
        dist.barrier()

    with pytest.raises(RankError, match="rank 1: ValueError: x"):
        run_ranks(fails_on_one, world=2)
