"""Driver of `rank_zero_checkpoint`, which saves model, optimizer and every rank's random state in one file.

Promises of the exercise, and the scenarios that check them:
    the file holds the unwrapped model, the optimizer and every rank's random state: `content`, `optimizer`, `rng`
    it opens with `weights_only=True`, with the promised keys: `content`
    only rank 0 writes: `writers`
    no rank comes back before the file is whole: `waits`
    random states stay as they are: `random-states`

The contract of all exercises adds: nothing is printed (`quiet`).

A scenario decides the check that `check=` names, or that of its name. How to add one, or a promise: grader/ADDING.md.
"""

from collections import OrderedDict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from grader.exercises.fixtures.checkpoints import OPENED, flat_state, read_checkpoint, scratch_folder
from grader.exercises.fixtures.classifiers import adamw, batches, fixture_loss, mlp
from grader.exercises.fixtures.stand_ins import replaced
from grader.exercises.several_processes._group import groups_of
from grader.exercises.several_processes._ranks import call_on_ranks, several_ranks
from grader.exercises.several_processes._replica import Replica
from grader.observe.play import Driver, Env, Stage
from grader.observe.wording import yes_or_no

driver = Driver("rank_zero_checkpoint")

_RANKS = 3
"""Number of ranks that save."""


def _nested_mlp(env: Env) -> nn.Module:
    """Return a model whose names have `module.` inside, as `decoder_module.layers.0.weight` has.

    They begin with letters of `module.`, which `lstrip("module.")` takes away.
    """
    return nn.Sequential(OrderedDict(decoder_module=mlp(env).cpu()))


class _SavingRanks:
    """Ranks that save one trained model by the learner's function, and what is observed while they do."""

    def __init__(self, stage: Stage, path: Path) -> None:
        """Train the model; `path` is the file that the learner's function is to write."""
        self.stage, self.path = stage, path
        self.model = _nested_mlp(stage.env)
        self.opt = adamw(self.model)
        for xb, _ in batches(stage.env, (4, 4)):
            self.opt.zero_grad()
            fixture_loss(self.model(xb.cpu())).backward()
            self.opt.step()
        self.file_opened_on_return: list[bool] = []
        """For each call that returned, in that order, True if the file could be opened then."""
        self.states_before: list[torch.Tensor] = []
        """For each rank, torch's random state right before the call."""
        self.numbers_after: list[list[float]] = []
        """For each rank, three random numbers drawn right after the call."""

    def save(self, *, is_reversed: bool = False) -> None:
        """Call the learner's function once on every rank, each from a random state of its own.

        Args:
            is_reversed: let rank 0 run last, wherever several ranks could run.
        """
        self.states_before = [torch.empty(0)] * _RANKS
        self.numbers_after = [[]] * _RANKS

        def around(rank: int, call: Callable[[], Any]) -> None:
            torch.manual_seed(self.stage.env.number(f"rank {rank}"))
            self.states_before[rank] = torch.get_rng_state()
            call()
            self.numbers_after[rank] = torch.rand(3).tolist()
            self.file_opened_on_return.append(read_checkpoint(self.path).outcome == OPENED)

        with several_ranks(_RANKS, is_reversed=is_reversed) as world:
            arguments = [
                (self.path, Replica(self.model, group), self.opt, group) for group in groups_of(world)
            ]
            call_on_ranks(self.stage, "rank_zero_checkpoint", arguments, world, around=around)

    def file_content(self) -> dict[str, Any]:
        """Return the dict in the file; an empty one if the file cannot be read."""
        return read_checkpoint(self.path).content

    def record_seeded_numbers(self) -> None:
        """Record numbers that depend on the seed, for scenarios whose facts are the same for every seed.

        Without them, a program could pass by writing the facts into the record.
        """
        self.stage.recorder.array("rank 0의 다음 난수", self.numbers_after[0])


@contextmanager
def _saving_ranks(stage: Stage) -> Iterator[_SavingRanks]:
    """Yield `_SavingRanks` whose file is in a new folder; remove the folder afterwards."""
    with scratch_folder() as folder:
        yield _SavingRanks(stage, folder / "checkpoint.pt")


@driver.scenario("content", "파일의 내용", check="content")
def _content(stage: Stage) -> None:
    """Save where an earlier checkpoint lies, and read the file.

    A wrong program keeps the earlier one, saves the wrapper, whose names begin with `module.`, takes `module.` out of
    the middle of names too, or saves other keys.
    """
    with _saving_ranks(stage) as ranks:
        torch.save({"model": {}, "optimizer": {}, "rng": []}, ranks.path)
        ranks.save()
        stage.recorder.fact("파일", read_checkpoint(ranks.path).outcome)
        content = ranks.file_content()
        stage.recorder.fact("키", [*sorted(str(key) for key in content)])
        state = content.get("model")
        names = sorted(state) if isinstance(state, dict) else []
        stage.recorder.fact("모델의 매개변수 이름", [str(name) for name in names])
        expected = ranks.model.state_dict()
        # Other names are told by the fact above; the values are then compared by their places.
        if isinstance(state, dict) and len(state) == len(expected) and set(state) != set(expected):
            state = dict(zip(expected, state.values(), strict=True))
        stage.recorder.array("저장된 가중치", flat_state(state, ranks.model))


@driver.scenario("optimizer", "옵티마이저의 상태", check="content")
def _optimizer(stage: Stage) -> None:
    """Read AdamW's state. A wrong program leaves it out, or saves the parameter groups only."""
    with _saving_ranks(stage) as ranks:
        ranks.save()
        fresh = adamw(_nested_mlp(stage.env))
        saved = ranks.file_content().get("optimizer")
        try:
            fresh.load_state_dict(saved)  # type: ignore[arg-type]
            moments = [state["exp_avg"].ravel() for state in fresh.state.values()]
            stage.recorder.array("저장된 1차 모멘트", torch.cat(moments) if moments else [])
        except Exception:
            stage.recorder.fact("옵티마이저가 읽을 수 있음", "아니요")


@driver.scenario("rng", "rank마다의 난수 상태", check="rng")
def _rng(stage: Stage) -> None:
    """Draw from the saved states. A wrong program saves only the state of rank 0, or draws before it saves."""
    with _saving_ranks(stage) as ranks:
        ranks.save()
        states = ranks.file_content().get("rng")
        states = states if isinstance(states, list) else []
        stage.recorder.fact("저장된 난수 상태의 수", len(states))
        for rank, state in enumerate(states[:_RANKS]):
            generator = torch.Generator()
            try:
                # A copy, because torch crashes on a state that is a row of a larger tensor.
                generator.set_state(state.clone() if isinstance(state, Tensor) else state)
            except (RuntimeError, TypeError):
                stage.recorder.fact(f"rank {rank}의 난수 상태", "쓸 수 없음")
                continue
            stage.recorder.array(f"rank {rank}의 난수 상태에서 나온 수", torch.rand(3, generator=generator))


@driver.scenario("random-states", "저장한 다음의 난수", check="rng")
def _random_states(stage: Stage) -> None:
    """Record what each rank draws after its call. A wrong program draws itself, or leaves another rank's state."""
    with _saving_ranks(stage) as ranks:
        ranks.save()
        for rank, numbers in enumerate(ranks.numbers_after):
            stage.recorder.array(f"rank {rank}에서 다음에 나온 수", numbers)


@driver.scenario("writers", "파일을 쓴 rank", check="writers")
def _writers(stage: Stage) -> None:
    """Note which ranks call `torch.save`. A wrong program writes on every rank."""
    writers: list[int] = []
    with _saving_ranks(stage) as ranks, _noted_saves(ranks, writers):
        ranks.save()
    stage.recorder.fact("파일을 쓴 rank", [*sorted(set(writers))])
    stage.recorder.fact("rank의 수", _RANKS)
    ranks.record_seeded_numbers()


@contextmanager
def _noted_saves(ranks: _SavingRanks, writers: list[int]) -> Iterator[None]:
    """Append the rank of each call of `torch.save` to `writers` inside this context.

    The random state at the call tells which rank it is, because each began with another one. So a call on a rank that
    has drawn random numbers before is not noted.
    """
    original = torch.save

    def note_rank_and_save(*args: Any, **kwargs: Any) -> Any:
        state = torch.get_rng_state()
        writers.extend(rank for rank, known in enumerate(ranks.states_before) if torch.equal(known, state))
        return original(*args, **kwargs)

    with replaced(ranks.stage.student("rank_zero_checkpoint"), torch, "save", note_rank_and_save):
        yield


@driver.scenario("waits", "돌아오는 때", check="writers")
def _waits(stage: Stage) -> None:
    """Open the file whenever a rank returns. A wrong program does not wait for rank 0, so others find no file yet.

    Rank 0 runs last here, so that ranks which do not wait return before it has written.
    """
    with _saving_ranks(stage) as ranks:
        ranks.save(is_reversed=True)
        stage.recorder.fact("돌아왔을 때 파일이 열리는 rank의 수", sum(ranks.file_opened_on_return))
        ranks.record_seeded_numbers()


@driver.scenario("quiet", "화면 출력", check="writers")
def _quiet(stage: Stage) -> None:
    """Record whether the call prints anything."""
    with _saving_ranks(stage) as ranks:
        ranks.save()
        stage.recorder.fact("print를 부름", yes_or_no(stage.recorder.print_count > 0))
        ranks.record_seeded_numbers()
