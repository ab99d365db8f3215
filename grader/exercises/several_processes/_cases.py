"""Cases (`grader.exercises.fixtures.usual.Case`) whose call runs the learner's function on every rank.

A `RankCase` is called with micro-batches of rank 0 and finds those of the other ranks itself (`call_all`). So the usual
scenarios (`add_usual`) work for functions on several ranks too.

Example: a case on two ranks with three micro-batches each, of which the first two make a window:

    case = rank_case(stage, "ddp_accumulate", equal_batches(3), loss_fn=loss_function(stage.env))
    case.watch()
    case.call(case.data[:2])   # rank 1 is called with the first two of its own micro-batches
    case.record_weights()      # of rank 1; those of rank 0, which is watched, are recorded already

Models and data are on the CPU even if scenarios are played on a GPU.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import torch
from torch import Tensor

from grader.exercises.fixtures.classifiers import Batch, MakeOptimizer, Net, batches, flat_weights, mlp, sgd
from grader.exercises.fixtures.usual import Case
from grader.exercises.fixtures.witnesses import seeded_number
from grader.exercises.several_processes._group import groups_of
from grader.exercises.several_processes._ranks import World, call_on_ranks, catching, several_ranks
from grader.exercises.several_processes._replica import Replica
from grader.observe.play import Env, Stage
from grader.observe.wording import yes_or_no

MakeModel = Callable[[Env], Net]
"""Makes the model of a rank, an equal one at each call."""
MakeData = Callable[[Env, int], list[Batch]]
"""(env, rank) -> that rank's micro-batches."""


class NoBatches:
    """An iterable without micro-batches that counts as true, as an empty generator does and an empty list does not."""

    def __iter__(self) -> Iterator[Any]:
        return iter(())


@dataclass
class RankCase(Case):
    """A case on several ranks; `model`, `opt` and `data` are those of rank 0, and only its events are recorded.

    Where the function must refuse its data, use `record_refusal`: the inherited `record_raised` knows no ranks.
    """

    peers: list[Case] = field(default_factory=list)
    """The cases of the other ranks, from rank 1 on."""
    worlds: list[World] = field(default_factory=list)
    """The world of each call so far, with the collectives that it made."""
    replicas: list[Replica] = field(default_factory=list)
    """Rank 0's wrapped model in each call so far."""
    gives_group: bool = False
    """True if the function's last argument is `dist`."""
    passes_one_batch: bool = False
    """True if the function takes one batch, inputs and labels, in place of micro-batches."""

    def call(self, *args: Any, **kwargs: Any) -> Any:
        """Call the learner's function on every rank, and return rank 0's result.

        The arguments are those of `call_all`, which returns the results of all ranks.
        """
        return self.call_all(*args, **kwargs)[0]

    def call_all(self, data: Any, **kwargs: Any) -> list[Any]:
        """Call the learner's function on every rank, and return each rank's result.

        Args:
            data: micro-batches of rank 0, some or all of its `data` (see `_data_of` for the other ranks).
            kwargs: keyword arguments, the same on each rank; `around` as in `call_on_ranks`.
        """
        with several_ranks(1 + len(self.peers)) as world:
            self.worlds.append(world)
            data_of_ranks = [data, *(self._data_of(peer, data) for peer in self.peers)]
            arguments = []
            for case, own_data, group in zip(
                (self, *self.peers), data_of_ranks, groups_of(world), strict=True
            ):
                replica = Replica(case.model, group)
                if case is self:
                    self.replicas.append(replica)
                own_arguments = [replica, case.opt, case.loss_fn]
                own_arguments += own_data[0] if self.passes_one_batch else [own_data]
                own_arguments += [group] if self.gives_group else []
                arguments.append([argument for argument in own_arguments if argument is not None])
            return call_on_ranks(self.stage, self.function_name, arguments, world, **kwargs)

    def weights(self) -> list[Tensor]:
        """Return the weights of every rank, each as one vector."""
        return [flat_weights(case.model) for case in (self, *self.peers)]

    def record_weights(self) -> None:
        """Record the weights of every rank; if rank 0's model is watched, only those of the others."""
        for rank, weights in enumerate(self.weights()):
            if rank or not self.is_watched:
                self.stage.recorder.array(f"rank {rank}의 가중치", weights)

    def record_collectives(self) -> None:
        """Record how many collectives rank 0 began in each call, and what `record_averages` records."""
        recorder = self.stage.recorder
        recorder.fact("부를 때마다 집합 통신의 횟수", [len(world.names_called(0)) for world in self.worlds])
        self.record_averages()

    def record_averages(self) -> None:
        """Record how often each call joined the gradients of all ranks, as rank 0 sees it.

        The number of elements that were joined, in whatever pieces, is divided by that of all gradients and rounded
        down. So a loss or a count that is joined too adds nothing.

        A second fact counts the forward passes through DDP in calls that joined nothing. It tells two wrong programs
        apart: one calls DDP but keeps it from averaging, the other calls the model inside, so DDP notices no pass. For
        calls that joined something the fact is 0, because there right programs differ in this number.
        """
        size = sum(p.numel() for p in self.model.parameters() if p.requires_grad)
        times_joined = [world.elements_joined(0) // size for world in self.worlds]
        forwards_if_unjoined = [
            0 if times else replica.forwards_with_gradients
            for times, replica in zip(times_joined, self.replicas, strict=True)
        ]
        witness = [
            seeded_number(self.stage.env, "joined", call, times) for call, times in enumerate(times_joined)
        ]
        self.stage.recorder.claim("부를 때마다 그레이디언트를 합친 횟수", [*times_joined], witness)
        self.stage.recorder.fact("합치지 않은 부름에서 `ddp`를 거친 순전파의 수", [*forwards_if_unjoined])

    def record_refusal(self, fact: str, data: Any, *, moved: str = "그때 매개변수가 움직임") -> None:
        """Call with data that is to be refused; record under `fact` which ranks raise ValueError.

        A second fact, whose name is `moved`, says whether any parameter moves.
        """
        before = self.weights()
        results = self.call_all(data, around=catching(ValueError))
        recorder = self.stage.recorder
        recorder.fact(fact, [rank for rank, result in enumerate(results) if isinstance(result, ValueError)])
        are_same = all(torch.equal(a, b) for a, b in zip(before, self.weights(), strict=True))
        recorder.fact(moved, yes_or_no(not are_same))

    def _data_of(self, peer: Case, data: Any) -> Any:
        """Return a peer's micro-batches for a call in which rank 0 is given `data`.

        `data`                      what is returned
        the whole of its list       all of the peer's, which may be more
        a part of its list          those of the peer with the same indices
        a `NoBatches`               the same one
        another iterable            a generator of all of the peer's: it cannot be read here without using it up
        """
        if isinstance(data, NoBatches):
            return data
        if not isinstance(data, list):
            return (batch for batch in peer.data)
        if len(data) == len(self.data):
            return list(peer.data)
        places = [next(i for i, own in enumerate(self.data) if own is batch) for batch in data]
        return [peer.data[place] for place in places]


def rank_case(
    stage: Stage,
    name: str,
    make_data: MakeData,
    *,
    ranks: int = 2,
    make_model: MakeModel = mlp,
    make_optimizer: MakeOptimizer = sgd,
    loss_fn: Any = None,
    gives_group: bool = False,
    passes_one_batch: bool = False,
) -> RankCase:
    """Return a case on several ranks, which begin with equal models and have data of their own.

    Args:
        stage: the scenario's stage.
        name: name of the learner's function.
        make_data: makes each rank's micro-batches.
        ranks: number of ranks.
        make_model: makes the model of each rank, equal at each call.
        make_optimizer: makes each rank's optimizer.
        loss_fn: passed on after the optimizer; None if the function takes none.
        gives_group: also pass `dist`, as the last argument.
        passes_one_batch: pass inputs and labels of one batch in place of micro-batches.
    """
    env = replace(stage.env, device=torch.device("cpu"))
    cases = []
    for rank in range(ranks):
        model = make_model(env)
        cases.append(Case(stage, name, model, make_optimizer(model), loss_fn, make_data(env, rank)))
    first = cases[0]
    return RankCase(
        stage,
        name,
        first.model,
        first.opt,
        loss_fn,
        first.data,
        peers=cases[1:],
        gives_group=gives_group,
        passes_one_batch=passes_one_batch,
    )


def equal_batches(count: int, size: int = 4) -> MakeData:
    """Return a function that makes `count` micro-batches of `size` samples for each rank."""

    def make(env: Env, rank: int) -> list[Batch]:
        return batches(env, [size] * count, f"data of rank {rank}")

    return make


def windows_of(data: Sequence[Any], length: int) -> list[list[Any]]:
    """Return consecutive windows of this length; the last one has what is left."""
    return [list(data[start : start + length]) for start in range(0, len(data), length)]
