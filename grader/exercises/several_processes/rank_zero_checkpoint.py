"""Driver of `rank_zero_checkpoint`, which writes one file for all ranks.

Promises of the exercise, and the scenarios that check them:
    the file holds the unwrapped model, the optimizer and every rank's random state: `content`, `optimizer`, `rng`
    it opens with `weights_only=True`, with the promised keys: `content`
    only rank 0 writes: `writers`
    no rank comes back before the file is whole: `waits`
    random states stay as they are: `random-states`

The contract of all exercises adds: nothing is printed (`quiet`).
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import torch

from grader.exercises.fixtures.checkpoints import flat_state, read_checkpoint, scratch_folder
from grader.exercises.fixtures.classifiers import adamw, batches, fixture_loss, mlp
from grader.exercises.fixtures.stand_ins import replaced
from grader.exercises.several_processes._group import groups_of
from grader.exercises.several_processes._ranks import call_on_ranks, several_ranks
from grader.exercises.several_processes._replica import Replica
from grader.observe.play import Driver, Stage
from grader.observe.wording import yes_or_no

driver = Driver("rank_zero_checkpoint")

_RANKS = 3
"""Number of ranks that save."""


class _Saving:
    """Ranks with one trained model, which save it by the learner's function, and what is observed of that."""

    def __init__(self, stage: Stage, path: Path) -> None:
        """Train the model that is saved; `path` is where the learner's function is to write."""
        self.stage, self.path = stage, path
        self.model = mlp(stage.env).cpu()
        self.opt = adamw(self.model)
        for xb, _ in batches(stage.env, (4, 4)):
            self.opt.zero_grad()
            fixture_loss(self.model(xb.cpu())).backward()
            self.opt.step()
        self.whole_on_return: list[bool] = []
        """For each rank whose call has returned, in that order: True if the file could be opened then."""
        self.random_states: list[torch.Tensor] = []
        """For each rank, its random state when it called."""
        self.next_numbers: list[list[float]] = []
        """For each rank, the random numbers that it draws after the call."""

    def call(self, *, is_reversed: bool = False) -> None:
        """Call the learner's function on every rank; each has random numbers of its own.

        Args:
            is_reversed: let rank 0 run last, wherever several ranks could run.
        """
        self.random_states = [torch.empty(0)] * _RANKS
        self.next_numbers = [[]] * _RANKS

        def around(rank: int, call: Callable[[], Any]) -> None:
            torch.manual_seed(self.stage.env.number(f"rank {rank}"))
            self.random_states[rank] = torch.get_rng_state()
            call()
            self.next_numbers[rank] = torch.rand(3).tolist()
            self.whole_on_return.append(read_checkpoint(self.path)[1] == "열림")

        with several_ranks(_RANKS, is_reversed=is_reversed) as world:
            arguments = [
                (self.path, Replica(self.model, group), self.opt, group) for group in groups_of(world)
            ]
            call_on_ranks(self.stage, "rank_zero_checkpoint", arguments, world, around=around)

    def content(self) -> dict[str, Any]:
        """Return what the file holds; an empty dict if it cannot be read."""
        return read_checkpoint(self.path)[0]


@contextmanager
def _saving(stage: Stage) -> Iterator[_Saving]:
    """Yield a `_Saving` into a new folder, which is removed afterwards."""
    with scratch_folder() as folder:
        yield _Saving(stage, folder / "checkpoint.pt")


@driver.scenario("content", "파일의 내용", check="content")
def _content(stage: Stage) -> None:
    """Read the file. A wrong program saves the wrapper, whose names begin with `module.`, or other keys."""
    with _saving(stage) as saving:
        saving.call()
        stage.recorder.fact("파일", read_checkpoint(saving.path)[1])
        content = saving.content()
        stage.recorder.fact("키", [*sorted(str(key) for key in content)])
        state = content.get("model")
        names = sorted(state) if isinstance(state, dict) else []
        stage.recorder.fact("모델의 매개변수 이름", [str(name) for name in names])
        stage.recorder.array("저장된 가중치", flat_state(state, saving.model))


@driver.scenario("optimizer", "옵티마이저의 상태", check="content")
def _optimizer(stage: Stage) -> None:
    """Read AdamW's state. A wrong program leaves it out, or saves the parameter groups only."""
    with _saving(stage) as saving:
        saving.call()
        fresh = adamw(mlp(stage.env).cpu())
        saved = saving.content().get("optimizer")
        try:
            fresh.load_state_dict(saved)  # type: ignore[arg-type]
            moments = [state["exp_avg"].ravel() for state in fresh.state.values()]
            stage.recorder.array("저장된 1차 모멘트", torch.cat(moments) if moments else [])
        except Exception:
            stage.recorder.fact("옵티마이저가 읽을 수 있음", "아니요")


@driver.scenario("rng", "rank마다의 난수 상태", check="rng")
def _rng(stage: Stage) -> None:
    """Draw from the saved states. A wrong program saves rank 0's own state only, or the states of one moment later."""
    with _saving(stage) as saving:
        saving.call()
        states = saving.content().get("rng")
        states = states if isinstance(states, list) else []
        stage.recorder.fact("저장된 난수 상태의 수", len(states))
        for rank, state in enumerate(states[:_RANKS]):
            generator = torch.Generator()
            try:
                generator.set_state(state)
            except (RuntimeError, TypeError):
                stage.recorder.fact(f"rank {rank}의 난수 상태", "쓸 수 없음")
                continue
            stage.recorder.array(f"rank {rank}의 난수 상태에서 나온 수", torch.rand(3, generator=generator))


@driver.scenario("random-states", "저장한 다음의 난수", check="rng")
def _random_states(stage: Stage) -> None:
    """Draw numbers after saving. A wrong program draws some itself, or sets another rank's state."""
    with _saving(stage) as saving:
        saving.call()
        for rank, numbers in enumerate(saving.next_numbers):
            stage.recorder.array(f"rank {rank}에서 다음에 나온 수", numbers)


@driver.scenario("writers", "파일을 쓴 rank", check="writers")
def _writers(stage: Stage) -> None:
    """Note who calls `torch.save`. A wrong program writes on every rank."""
    writers: list[int] = []
    with _saving(stage) as saving, _noted_saves(saving, writers):
        saving.call()
    stage.recorder.fact("파일을 쓴 rank", [*sorted(set(writers))])
    stage.recorder.fact("rank의 수", _RANKS)
    stage.recorder.array("rank 0의 다음 난수", saving.next_numbers[0])


@contextmanager
def _noted_saves(saving: _Saving, writers: list[int]) -> Iterator[None]:
    """Append the rank of each call of `torch.save` to `writers`: its random state tells which one it is."""
    original = torch.save

    def note_rank_and_save(*args: Any, **kwargs: Any) -> Any:
        state = torch.get_rng_state()
        writers.extend(rank for rank, known in enumerate(saving.random_states) if torch.equal(known, state))
        return original(*args, **kwargs)

    with replaced(saving.stage.student("rank_zero_checkpoint"), torch, "save", note_rank_and_save):
        yield


@driver.scenario("waits", "돌아오는 때", check="writers")
def _waits(stage: Stage) -> None:
    """Look for the file on every rank's return. A wrong program does not wait, so other ranks find no file yet.

    Rank 0 runs last here, so that the others would be back before it has written.
    """
    with _saving(stage) as saving:
        saving.call(is_reversed=True)
        stage.recorder.fact("돌아왔을 때 파일이 열리는 rank의 수", sum(saving.whole_on_return))
        stage.recorder.array("rank 0의 다음 난수", saving.next_numbers[0])


@driver.scenario("quiet", "화면 출력", check="writers")
def _quiet(stage: Stage) -> None:
    """Record whether the call prints anything."""
    with _saving(stage) as saving:
        saving.call()
        stage.recorder.fact("print를 부름", yes_or_no(stage.recorder.print_count > 0))
        stage.recorder.array("rank 0의 다음 난수", saving.next_numbers[0])
