"""Ranks in one process: the same every time, as two real processes with gloo, and a wait without end is named."""

import os
import pickle
import re
from collections import Counter, OrderedDict
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from grader.exercises.several_processes._group import _INSTEAD, Group, groups_of
from grader.exercises.several_processes._ranks import Deadlock, several_ranks
from grader.exercises.several_processes._replica import Replica
from grader.judging.compare_runs import find_difference
from grader.judging.first_difference import describe_first_difference
from grader.judging.reference import cached_reference


def on_ranks(function: Callable[[Any], Any], size: int = 2) -> list[Any]:
    with several_ranks(size) as world:
        return world.run([lambda group=group: function(group) for group in groups_of(world)])


def flat(model: nn.Module) -> Tensor:
    return torch.cat([p.detach().ravel() for p in model.parameters()])


def train(dist: Any, wrap: Callable[[nn.Module], Any]) -> Tensor:
    """Train on different data on each rank; return each gradient, the buffers after each pass, and the weights.

    In each of two windows a pass without a backward pass, and an evaluation, stand where they change what is averaged.
    """
    torch.manual_seed(1)
    model = nn.Sequential(nn.Linear(4, 8), nn.BatchNorm1d(8), nn.Tanh(), nn.Linear(8, 1)).double()
    ddp = wrap(model)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    generator = torch.Generator().manual_seed(dist.get_rank())
    seen: list[Tensor] = []

    def forward(inputs: Tensor) -> Any:
        output = ddp(inputs)
        seen.extend(buffer.double().ravel().clone() for buffer in model.buffers())
        return output.square().mean()

    def backward(loss: Tensor) -> None:
        loss.backward()
        seen.extend(p.grad.ravel().clone() for p in model.parameters() if p.grad is not None)

    for _ in range(2):
        opt.zero_grad()
        first, second, last = torch.randn(3, 6, 4, generator=generator, dtype=torch.float64)
        forward(last)  # no backward pass follows: the next one averages although it is in `no_sync`
        with ddp.no_sync():
            backward(forward(first))
            backward(forward(second))
        loss = forward(last)
        with torch.no_grad():
            forward(first)  # the backward pass still averages, and the next forward pass broadcasts nothing
        backward(loss)
        backward(ddp.module(first).square().mean())
        opt.step()
    return torch.cat([*seen, flat(model)])


def collectives(dist: Any, wrap: object) -> Tensor:
    """Call each collective once, and each reduction; return all that this rank got."""
    rank, size = dist.get_rank(), dist.get_world_size()
    own = torch.tensor([1.5, -2.0, 3.0, 0.25], dtype=torch.float64) * (rank + 1) - rank
    seen = [torch.tensor([rank, size], dtype=torch.float64)]
    for name in ("SUM", "AVG", "PRODUCT", "MIN", "MAX"):
        everywhere, at_one = own.clone(), own.clone()
        dist.all_reduce(everywhere, op=getattr(dist.ReduceOp, name))
        dist.reduce(at_one, 1, op=getattr(dist.ReduceOp, name))
        seen += (
            [everywhere, at_one] if rank == 1 else [everywhere]
        )  # torch leaves the others' tensors undefined
    of_first = own.clone()
    started = dist.broadcast(of_first, 0, async_op=True)
    started.wait()
    gathered = [torch.zeros_like(own) for _ in range(size)]
    dist.all_gather(gathered, own)
    joined = own.new_zeros(size * 4)
    dist.all_gather_into_tensor(joined, own)
    part = own.new_zeros(4 // size)
    dist.reduce_scatter_tensor(part, own)
    at_first = [torch.zeros_like(own) for _ in range(size)] if rank == 0 else None
    dist.gather(own, at_first, dst=0)
    seen += [of_first, *gathered, joined, part, *(at_first or [])]
    halves = own.new_zeros(4)
    dist.all_to_all_single(halves, own)
    uneven = own.new_zeros(2 if rank == 0 else 6)
    dist.all_to_all_single(uneven, own, [1, 1] if rank == 0 else [3, 3], [1, 3])
    shared = own.new_zeros(4)
    dist.scatter(shared, [own, -own] if rank == 0 else None, src=0)
    later = dist.all_reduce(own.clone(), async_op=True).get_future().then(lambda done: done.value()[0] / size)
    seen += [halves, uneven, shared, later.wait()]
    objects: list[Any] = [None] * size
    dist.all_gather_object(objects, {"rank": float(rank)})
    told: list[Any] = [None] * size
    dist.gather_object(10.0 * rank, told if rank == 1 else None, dst=1)
    words = [float(rank), 7.0 + rank]
    dist.broadcast_object_list(words, src=1)
    mine: list[Any] = [None]
    dist.scatter_object_list(mine, [3.0, 4.0], group_src=1)  # the list of rank 0 is not looked at
    dist.broadcast(own, group_src=1)
    seen.append(own)
    counters: list[Any] = [None] * size
    dist.all_gather_object(counters, Counter(right=rank + 1))
    words.append(float(sum(counters, Counter())["right"]))
    dist.barrier()
    dist.barrier(dist.new_group())
    words += mine
    numbers = [one["rank"] for one in objects] + [one for one in told if one is not None] + words
    return torch.cat([*seen, torch.tensor(numbers, dtype=torch.float64)])


def messages(dist: Any, wrap: object) -> Tensor:
    """Send and receive in each way; return all that this rank got."""
    rank = dist.get_rank()
    other = 1 - rank
    own = torch.arange(6.0, dtype=torch.float64).reshape(2, 3) + 10 * rank
    got = [torch.zeros_like(own) for _ in range(5)]
    if rank == 0:
        dist.send(own, dst=1)
        dist.recv(got[0], src=1)
    else:
        assert dist.recv(got[0], src=0) == 0
        dist.send(own, dst=0)
    for work in [dist.isend(own + 1, other), dist.irecv(got[1], other)]:
        work.wait()
    # Tags pair messages, whatever their order is.
    for work in [
        dist.isend(own + 2, other, tag=2),
        dist.isend(own + 3, other, tag=3),
        dist.irecv(got[3], other, tag=3),
        dist.irecv(got[2], other, tag=2),
    ]:
        work.wait()
    both = [dist.P2POp(dist.isend, own + 4, other), dist.P2POp(dist.irecv, got[4], other)]
    for work in dist.batch_isend_irecv(both):
        work.wait()
    if rank == 0:
        dist.send(own, group_dst=1)
    else:
        got.append(torch.zeros_like(own))
        dist.recv(got[-1], group_src=0)
    return torch.cat(got).reshape(-1)


def test_ranks_run_in_their_order_and_keep_their_own_random_numbers() -> None:
    def draw(dist: Any) -> tuple[float, float]:
        first = torch.rand(()).item()
        dist.barrier()
        return first, torch.rand(()).item()

    torch.manual_seed(0)
    before = torch.get_rng_state()
    drawn = on_ranks(draw, size=3)
    assert drawn[0] == drawn[1] == drawn[2]
    assert torch.equal(torch.get_rng_state(), before)


def test_a_wait_without_end_is_named() -> None:
    def twice_on_one_rank(dist: Any) -> None:
        for _ in range(1 + dist.get_rank()):
            dist.all_reduce(torch.ones(()))

    with pytest.raises(Deadlock) as caught:
        on_ranks(twice_on_one_rank)
    expected = (
        "rank 0은 집합 통신을 1번 하고 끝났어요. rank 1은 두 번째 집합 통신인 `all_reduce`에서 기다려요."
    )
    assert str(caught.value) == expected


def test_two_ranks_that_both_send_first_wait_without_end() -> None:
    def send_first(dist: Any) -> None:
        other = 1 - dist.get_rank()
        dist.send(torch.ones(2), other)
        dist.recv(torch.ones(2), other)

    with pytest.raises(Deadlock) as caught:
        on_ranks(send_first)
    assert str(caught.value) == (
        "rank 0은 rank 1이 받기를 `send`에서 기다려요. rank 1은 rank 0이 받기를 `send`에서 기다려요."
    )


def test_a_message_needs_a_place_of_its_size() -> None:
    def send_three(dist: Any) -> None:
        if dist.get_rank() == 0:
            dist.send(torch.ones(3), 1)
        else:
            dist.recv(torch.ones(2), 0)

    with pytest.raises(RuntimeError, match="rank 0이 `send`로 보낸 것은 원소 3개인 float32 텐서인데"):
        on_ranks(send_three)


def test_asking_in_a_loop_whether_a_collective_is_done_comes_to_an_end() -> None:
    def ask(dist: Any) -> float:
        mine = torch.full((), float(dist.get_rank() + 1))
        work = dist.all_reduce(mine, async_op=True)
        assert not work.is_completed()
        while not work.is_completed():
            pass
        return mine.item()

    assert on_ranks(ask) == [3.0, 3.0]


def test_what_is_joined_counts_however_it_is_sent() -> None:
    def in_parts(dist: Any) -> None:
        gradient, half = torch.ones(6), torch.zeros(3)
        dist.reduce_scatter_tensor(half, gradient)
        dist.all_gather_into_tensor(gradient, half)

    def by_messages(dist: Any) -> None:
        mine, theirs, other = torch.ones(6), torch.zeros(6), 1 - dist.get_rank()
        for work in (dist.isend(mine, other), dist.irecv(theirs, other)):
            work.wait()

    def as_objects(dist: Any) -> None:
        dist.all_gather_object([None, None], {"gradients": [torch.ones(4), torch.ones(2)]})

    def from_rank_0(dist: Any) -> None:
        dist.scatter(torch.zeros(6), [torch.ones(6)] * 2 if dist.get_rank() == 0 else None)
        dist.broadcast_object_list([torch.ones(6)])

    for function, times in ((in_parts, 1), (by_messages, 1), (as_objects, 1), (from_rank_0, 0)):
        with several_ranks(2) as world:
            world.run([partial(function, group) for group in groups_of(world)])
            assert world.elements_joined(0) // 6 == times, function.__name__


MISSING = {
    "monitored_barrier": "채점할 때의 `dist`에는 `monitored_barrier`가 없어요. `barrier`를 쓰세요.",
    "get_node_local_rank": "채점할 때의 `dist`에는 `get_node_local_rank`가 없어요. `all_reduce`, ",
    "all_redcue": "'Group' object has no attribute 'all_redcue'",
}


@pytest.mark.parametrize("name", MISSING)
def test_a_function_that_is_missing_names_another(name: str) -> None:
    with pytest.raises(AttributeError, match=re.escape(MISSING[name])):
        on_ranks(lambda dist: getattr(dist, name)())


def test_a_property_of_ddp_that_is_missing_is_told_in_korean() -> None:
    def join(dist: Any) -> None:
        Replica(nn.Linear(1, 1), dist).join()

    with pytest.raises(AttributeError, match="채점할 때의 `ddp`에는 `join`이 없어요"):
        on_ranks(join)


def test_a_group_of_some_ranks_is_refused_in_korean() -> None:
    with pytest.raises(NotImplementedError, match="`send`와 `recv`를 쓰세요"):
        on_ranks(lambda dist: dist.new_group([0]))


def test_different_collectives_and_shapes_are_refused() -> None:
    def other(dist: Any) -> None:
        (dist.barrier if dist.get_rank() else lambda: dist.all_reduce(torch.ones(())))()

    def longer(dist: Any) -> None:
        dist.all_reduce(torch.ones(1 + dist.get_rank()))

    for function in (other, longer):
        with pytest.raises(RuntimeError, match="rank마다 달라요"):
            on_ranks(function)


def test_what_one_rank_raises_comes_out_and_stops_the_others() -> None:
    def fails(dist: Any) -> None:
        if dist.get_rank() == 1:
            raise KeyError("here")
        dist.barrier()

    with pytest.raises(KeyError, match="here"):
        on_ranks(fails)


def test_what_was_given_may_be_changed_before_the_others_read_it() -> None:
    def change(dist: Any) -> float:
        mine = torch.full((), float(dist.get_rank() + 1))
        work = dist.all_reduce(mine, async_op=True)
        assert mine == dist.get_rank() + 1  # not before `wait`
        work.wait()
        return mine.item()

    assert on_ranks(change) == [3.0, 3.0]


def test_a_parameter_without_gradient_is_noticed_one_iteration_late() -> None:
    class Half(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.used, self.unused = nn.Linear(2, 1), nn.Linear(2, 1)

        def forward(self, inputs: Tensor) -> Any:
            return self.used(inputs)

    def train_once(dist: Any) -> None:
        ddp = Replica(Half(), dist)
        ddp(torch.ones(1, 2)).sum().backward()
        with pytest.raises(RuntimeError, match="prior iteration"):
            ddp(torch.ones(1, 2))

    on_ranks(train_once)


def test_objects_arrive_as_after_pickling() -> None:
    given = [Counter(right=2), OrderedDict(a=1), {1, 2}, np.ones(2), torch.ones(2), (1, [torch.ones(3)])]

    def gather(dist: Any) -> list[Any]:
        got: list[Any] = [None, None]
        dist.all_gather_object(got, given)
        return got[0]

    first, second = on_ranks(gather)
    for kept, here, there in zip(given, first, second, strict=True):
        assert type(here) is type(there) is type(kept)
        assert here is not there
        assert here is not kept
    first[3][0] = first[4][0] = 7.0
    assert second[3][0] == given[3][0] == second[4][0] == given[4][0] == 1.0
    with pytest.raises((pickle.PicklingError, AttributeError), match="lambda"):
        on_ranks(lambda dist: dist.broadcast_object_list([lambda: 0]))


def test_rank_that_broadcasts_objects_keeps_its_own() -> None:
    mine = [[1], [2]]

    def broadcast(dist: Any) -> list[Any]:
        objects: list[Any] = [*mine] if dist.get_rank() == 0 else [None, None]
        dist.broadcast_object_list(objects)
        return objects

    first, second = on_ranks(broadcast)
    assert first == second == mine
    assert first[0] is mine[0]
    assert first[1] is mine[1]
    assert second[0] is not mine[0]


REFUSED: dict[str, tuple[Callable[[Any], Any], type[Exception], str]] = {
    "list too short": (lambda dist: dist.all_gather_object([], 0), IndexError, "out of range"),
    "list on the wrong rank": (
        lambda dist: dist.gather_object(0, [None, None]),
        ValueError,
        "gather_list`` must NOT be specified on non-destination ranks",
    ),
    "one tensor for two ranks": (
        lambda dist: dist.gather(torch.ones(()), [torch.zeros(())] if dist.get_rank() == 0 else []),
        RuntimeError,
        "Incorrect output list size 1",
    ),
    "tensors to scatter on every rank": (
        lambda dist: dist.scatter(torch.ones(()), [torch.ones(()), torch.ones(())]),
        ValueError,
        "scatter_list`` must NOT be specified on non-source ranks",
    ),
    "no tensors to scatter": (
        lambda dist: dist.scatter(torch.ones(()), []),
        ValueError,
        "scatter_list`` must be specified on source rank",
    ),
    "one tensor to scatter": (
        lambda dist: dist.scatter(torch.ones(()), [torch.ones(())] if dist.get_rank() == 0 else None),
        RuntimeError,
        "ProcessGroupGloo::scatter: Incorrect input list size 1",
    ),
    "no place for an object": (
        lambda dist: dist.scatter_object_list([], [1, 2]),
        ValueError,
        "scatter_object_output_list to be a list of size at least 1",
    ),
    "no objects to scatter": (
        lambda dist: dist.scatter_object_list([None]),
        ValueError,
        "must provide non-None scatter_object_input_list",
    ),
    "one object to scatter": (
        lambda dist: dist.scatter_object_list([None], [1]),
        RuntimeError,
        "Incorrect input list size 1",
    ),
    "objects from rank -1": (
        lambda dist: dist.broadcast_object_list([0], src=-1),
        RuntimeError,
        "ProcessGroupGloo::broadcast: invalid root rank: -1",
    ),
    "objects to rank 5": (
        lambda dist: dist.gather_object(0, dst=5),
        RuntimeError,
        "ProcessGroupGloo::gather: invalid root rank: 5",
    ),
    "a tensor from no rank": (
        lambda dist: dist.broadcast(torch.ones(())),
        ValueError,
        "Must specify global_rank or group_rank",
    ),
    "a tensor from two": (
        lambda dist: dist.broadcast(torch.ones(()), 0, group_src=0),
        ValueError,
        "Can't specify both group_rank and global_rank",
    ),
}
"""What torch 2.13 raises with gloo for wrong calls; the last value is a part of the message."""


@pytest.mark.parametrize("call", REFUSED)
def test_wrong_calls_are_refused_as_by_torch(call: str) -> None:
    function, error, words = REFUSED[call]
    with pytest.raises(error, match=re.escape(words)):
        on_ranks(function)


def test_only_functions_that_are_missing_are_told_to_be() -> None:
    for name in _INSTEAD:
        assert hasattr(torch.distributed, name)
        assert not hasattr(Group, name)


NONE_DIFFERS = {
    "none-stays-none": ("none-on-one", "rank 1의 그레이디언트 (세 번째)", "None", "텐서"),
    "frozen-gets-gradient": ("frozen", "rank 0의 그레이디언트 (첫 번째)", "텐서", "None"),
    "sum-not-mean": ("two-ranks", "rank 0의 그레이디언트", "3.23429", "1.61714"),
}
"""Mistake -> scenario in which it shows, what is said to differ there, the mistake's value, the solution's value."""


@pytest.mark.parametrize("mistake", NONE_DIFFERS)
def test_a_gradient_that_is_none_is_told_as_none_and_not_as_zero(mistake: str) -> None:
    its = cached_reference("all_reduce_mean_", 0)
    scenario_name, *told = NONE_DIFFERS[mistake]
    variant = next(variant for variant in its.variants if variant.mistake.id == mistake)
    wrong, right = its.complete_run(its.sources[variant.name], scenario_name), its.solution_run(scenario_name)
    scenario = its.exercise.driver[scenario_name]
    first = find_difference(wrong, right, scenario.atol)
    assert first is not None
    described = describe_first_difference(scenario, first, wrong, right)
    assert [described.what, described.got, described.expected] == told


def _real_rank(rank: int, folder: Path, run: Callable[[Any, Callable[[nn.Module], Any]], Tensor]) -> None:
    import torch.distributed as dist

    dist.init_process_group("gloo", init_method=f"file://{folder}/store", rank=rank, world_size=2)
    torch.save(run(dist, nn.parallel.DistributedDataParallel), folder / f"{rank}.pt")
    dist.destroy_process_group()


@pytest.mark.full
@pytest.mark.parametrize("program", [train, collectives, messages])
def test_two_real_processes_with_gloo_get_the_same(
    program: Callable[[Any, Callable[[nn.Module], Any]], Tensor], tmp_path: Path
) -> None:
    """The same program with `torch.distributed` and `DistributedDataParallel`, in two forked processes."""
    import torch._dynamo  # the first wrap would import it in each process

    children = []
    for rank in range(2):
        child = os.fork()
        if child == 0:
            code = 1
            try:
                torch.set_num_threads(1)
                _real_rank(rank, tmp_path, program)
                code = 0
            finally:
                os._exit(code)
        children.append(child)
    assert [os.waitpid(child, 0)[1] for child in children] == [0, 0]
    here = on_ranks(lambda group: program(group, lambda model: Replica(model, group)))
    for rank in range(2):
        real = torch.load(tmp_path / f"{rank}.pt")
        assert torch.allclose(real, here[rank], rtol=0, atol=1e-12)  # float64; gloo may add in another order
