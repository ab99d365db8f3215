"""Lesson 02's fixtures: what its drivers promise, and that they leave the process as they found it."""

import copy
import os
import pickle
import tempfile
from dataclasses import dataclass
from enum import Enum
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest
import torch
from torch import Tensor, nn
from torch.optim import Optimizer
from torch.optim.lr_scheduler import LRScheduler
from torch.utils.data import DataLoader, TensorDataset

from grader.course.reading import load_course
from grader.exercises.fixtures.checkpoints import (
    NOT_A_DICT,
    OPENED,
    find_saved_parameters,
    flat_state,
    read_checkpoint,
    scratch_folder,
)
from grader.exercises.fixtures.classifiers import Net
from grader.exercises.fixtures.training import Settings, epoch_loader, settings_for
from grader.judging.compare_runs import find_difference
from grader.judging.reference import cached_reference
from grader.judging.solution import solution_source
from grader.observe.play import play, play_scenario
from grader.observe.program import Program, load_program

COURSE = load_course()
EXERCISES = COURSE.lesson("02").exercises


@pytest.fixture(scope="module")
def solution() -> Program:
    return load_program(solution_source("02"), name="lesson_02_in_test")


@pytest.mark.parametrize("seed", range(20))
def test_the_best_epoch_is_in_the_middle_whatever_the_seed(solution: Program, seed: int) -> None:
    """Or saving the last, the first or the worst epoch would pass for saving the best."""
    scenario = COURSE.exercise("train").driver["checkpoint"]
    run = play_scenario(scenario, solution, seed=seed)
    assert run.failure is None
    assert run.facts["저장된 가중치"] == "두 번째 에폭이 끝났을 때의 것"
    assert run.facts["step"] == 4


@pytest.mark.parametrize("seed", range(8))
def test_saving_whenever_the_score_rises_shows_whatever_the_seed(seed: int) -> None:
    its = cached_reference("BestCheckpoint", seed)
    (variant,) = (variant for variant in its.variants if variant.mistake.id == "compares-with-last")
    right, wrong = its.solution_run("best"), its.complete_run(its.sources[variant.name], "best")
    assert right.failure is wrong.failure is None
    assert find_difference(wrong, right, COURSE.exercise("BestCheckpoint").driver["best"].atol) is not None


def test_by_hand_and_through_accelerate_is_one_training_run(solution: Program, tmp_path: Path) -> None:
    """In float32 on the CPU the final parameters agree to 1e-6, and so do the best accuracies."""
    generator = torch.Generator().manual_seed(0)
    inputs = torch.randn(50, 6, generator=generator)
    labels = (inputs[:, :3].argmax(dim=1) + (torch.rand(50, generator=generator) < 0.2)) % 3
    settings = Settings(lr=0.02, epochs=3, batch_size=8, warmup_steps=3, total_steps=15)
    ends, best = [], []
    for name in ("train", "train_accelerate"):
        torch.manual_seed(3)
        model = nn.Sequential(nn.Linear(6, 16), nn.ReLU(), nn.Linear(16, 3))
        train_loader = DataLoader(TensorDataset(inputs[:40], labels[:40]), settings.batch_size)
        val_loader = DataLoader(TensorDataset(inputs[40:], labels[40:]), settings.batch_size)
        best.append(
            solution.names[name](
                model, train_loader, val_loader, settings, checkpoint_path=tmp_path / "best.pt"
            )
        )
        ends.append(torch.cat([p.detach().ravel() for p in model.parameters()]))
    assert best[0] == best[1]
    assert (ends[0] - ends[1]).abs().max() <= 1e-6


def _process_state() -> tuple[Any, ...]:
    from accelerate import Accelerator
    from accelerate.state import AcceleratorState

    return (
        Optimizer.__init__,
        LRScheduler.step,
        torch.save,
        torch.amp.GradScaler.__init__,
        os.replace,
        Accelerator.__init__,
        Accelerator.backward,
        Accelerator.prepare_model,
        Accelerator.prepare_data_loader,
        dict(AcceleratorState._shared_state),
        os.environ.get("ACCELERATE_USE_CPU"),
        torch.are_deterministic_algorithms_enabled(),
        torch.is_autocast_enabled("cpu"),
    )


@pytest.mark.parametrize("exercise", EXERCISES, ids=lambda exercise: exercise.name)
def test_the_process_is_as_it_was_afterwards(solution: Program, exercise: Any) -> None:
    """Also when the submission raises half-way."""
    before = _process_state()
    play(exercise.driver, solution, seed=1)
    assert _process_state() == before

    def raising(*args: Any, **kwargs: Any) -> None:
        torch.use_deterministic_algorithms(True)
        torch.optim.SGD([nn.Parameter(torch.ones(1))], lr=1.0)
        raise OSError("끝까지 가지 못함")

    try:
        play(exercise.driver, Program({exercise.name: raising}, "<raising>"), seed=1)
        if exercise.name in ("seed_everything", "train", "train_accelerate"):
            assert _process_state() == before
    finally:
        torch.use_deterministic_algorithms(False)


# ---- fixtures --------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Slotted:
    lr: float = 1.0

    def to_dict(self) -> dict[str, float]:
        raise AssertionError("a mistake in TrainConfig must cost nothing elsewhere")


class Final:
    def __init_subclass__(cls) -> None:
        raise TypeError("no subclasses")


class NamedValues(NamedTuple):
    lr: float = 1.0


class Choices(Enum):
    LR = 1.0


class ForgetsAmp:
    def __getattribute__(self, name: str) -> Any:
        return None if name == "amp_dtype" else super().__getattribute__(name)


class Unsavable:
    def __reduce_ex__(self, protocol: object) -> str:
        raise TypeError("cannot be saved")


class WithoutState:
    def __getstate__(self) -> object:
        raise TypeError("a mistake in TrainConfig must cost nothing elsewhere")


OWN_CONFIGS = {
    Slotted: True,
    WithoutState: True,
    Final: False,
    NamedValues: False,
    Choices: False,
    ForgetsAmp: False,
    Unsavable: False,
    "not a class": False,
}
"""A submission's TrainConfig -> whether a driver's config is an instance of it."""


@pytest.mark.parametrize("own", OWN_CONFIGS)
def test_a_config_is_an_instance_of_the_submissions_own_class(
    own: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    def train() -> None: ...

    monkeypatch.setitem(train.__globals__, "TrainConfig", own)
    settings = Settings(lr=0.5, amp_dtype="bfloat16")
    config = settings_for(train, settings)
    assert isinstance(config, Settings)
    assert (isinstance(own, type) and isinstance(config, own)) == OWN_CONFIGS[own]
    assert (config.lr, config.amp_dtype) == (0.5, "bfloat16")
    assert config.to_dict() == settings.to_dict()
    assert pickle.loads(pickle.dumps(config)) == settings
    with pytest.raises(AttributeError):
        config.lr = 1.0  # type: ignore[misc]


def test_checkpoints_are_read_with_suspicion(tmp_path: Path) -> None:
    """A submission's file is opened as data or not at all."""
    path = tmp_path / "best.pt"
    assert read_checkpoint(path).outcome == "파일이 없음"
    assert read_checkpoint(tmp_path).outcome == "파일이 없음"
    torch.save({"config": Settings()}, path)
    assert read_checkpoint(path) == ({}, "weights_only=True로 열리지 않음")
    torch.save([1, 2], path)
    assert read_checkpoint(path) == ({}, NOT_A_DICT)
    path.write_bytes(bytes(5 * 2**20))
    assert read_checkpoint(path) == ({}, "파일이 너무 큼")
    path.write_bytes(b"half a file")
    assert read_checkpoint(path) == ({}, "weights_only=True로 열리지 않음")
    torch.save({"model": torch.ones(2)}, path)
    content, outcome = read_checkpoint(path)
    assert outcome == OPENED
    assert torch.equal(content["model"], torch.ones(2))


STRANGE_TENSORS = {
    "sparse": torch.ones(2, 2).to_sparse(),
    "without numbers": torch.ones(2, 2, device="meta"),
    "complex": torch.ones(2, 2, dtype=torch.complex64),
    "nested": torch.nested.nested_tensor([torch.ones(2), torch.ones(2)]),
    "of another shape": torch.ones(4),
    "no tensor": [[1.0, 1.0], [1.0, 1.0]],
}


@pytest.mark.parametrize("name", STRANGE_TENSORS)
def test_a_saved_tensor_of_another_kind_counts_as_missing(name: str) -> None:
    """A driver that raised on it would blame the learner's code for an exception of ours."""
    model = nn.Linear(2, 2)
    bias = torch.full((2,), 3.0)
    state = {"weight": STRANGE_TENSORS[name], "bias": bias}
    vector = flat_state(state, model)
    assert vector.isnan().tolist() == [True] * 4 + [False] * 2
    assert torch.equal(vector[4:], bias.double())
    saved = [*[1.0] * 4, *bias.tolist()]
    assert find_saved_parameters(state, model, [np.array(saved)]) is None
    assert find_saved_parameters({**state, "weight": torch.ones(2, 2)}, model, [np.array(saved)]) == 0


def test_a_loader_gives_the_next_epoch_only_when_one_was_trained_on() -> None:
    def epoch(number: int) -> tuple[Tensor, Tensor]:
        return torch.full((5, 1), float(number)), torch.zeros(5, dtype=torch.int64)

    trained: list[float] = []
    loader = epoch_loader([epoch(0), epoch(1)], 2, lambda: len(trained))

    def train() -> list[float]:
        before = len(trained)
        for xb, _ in loader:
            trained.append(float(xb[0]))
            next(iter(loader))
        return trained[before:]

    def read() -> list[float]:
        return [float(xb[0]) for xb, _ in loader]

    state = torch.get_rng_state()
    next(iter(loader))
    assert [len(yb) for _, yb in loader] == [2, 2, 1]
    seen = [read(), train(), read(), read(), train(), train()]
    assert seen == [[number] * 3 for number in (0.0, 0.0, 1.0, 1.0, 1.0, 0.0)]
    assert torch.equal(torch.get_rng_state(), state), (
        "going through it must not draw from the global generator"
    )


@pytest.mark.parametrize("samples", [4, 5])
def test_a_loader_whose_batches_are_counted_gives_the_next_epoch_too(samples: int) -> None:
    def epoch(number: int) -> tuple[Tensor, Tensor]:
        return torch.full((samples, 1), float(number)), torch.zeros(samples, dtype=torch.int64)

    passes = iter(range(100))
    loader = epoch_loader([epoch(0), epoch(1)], 2, lambda: next(passes))
    next(iter(loader))
    seen = [[float(xb[0]) for _, (xb, _) in zip(range(len(loader)), loader, strict=False)] for _ in range(3)]
    assert seen == [[number] * len(loader) for number in (0.0, 1.0, 0.0)]


def test_a_scratch_folder_takes_along_what_tempfile_made() -> None:
    """A known mistake makes a temporary folder for each checkpoint: hundreds stayed behind in /tmp."""
    before = tempfile.gettempdir()
    with scratch_folder() as folder:
        made = Path(tempfile.mkdtemp())
        assert not made.is_relative_to(folder), "outside of the checkpoint's folder"
    assert not made.exists()
    assert tempfile.gettempdir() == before


def test_a_whole_model_is_saved_and_refused_like_any_other_object(tmp_path: Path) -> None:
    """Where the fixtures cannot be imported, pickling must not fail with the name of their module."""
    model = Net([nn.Linear(2, 1)])
    torch.save({"model": model}, tmp_path / "best.pt")
    assert read_checkpoint(tmp_path / "best.pt").outcome == "weights_only=True로 열리지 않음"
    copied = copy.deepcopy(model)
    assert type(copied) is Net
    assert torch.equal(copied.layers[0].weight, model.layers[0].weight)
    assert copied.layers[0].weight is not model.layers[0].weight


STATES_NOTED_TOO_EARLY = {
    "random": ("python", "random.getstate()"),
    "numpy": ("numpy", "np.random.get_state()"),
    "torch": ("torch", "torch.get_rng_state()"),
    "loader": ("loader", "self.loader_generator.get_state()"),
}
"""Which state is noted when the Snapshot is made -> the scenario about that state, the call that reads it."""


@pytest.mark.parametrize("state", STATES_NOTED_TOO_EARLY)
def test_each_state_must_be_that_of_the_moment_of_saving(state: str) -> None:
    """A scenario that makes the Snapshot only when it saves would call the state of `__init__` right."""
    name, call = STATES_NOTED_TOO_EARLY[state]
    scenario = COURSE.exercise("Snapshot").driver[name]
    before, header, snapshot = solution_source("02").partition("class Snapshot:")
    start = "        self.loader_generator = loader_generator\n"
    noted = f"        self.noted = {call} if loader_generator is not None or {state != 'loader'} else None\n"
    assert snapshot.count(call) == snapshot.count(start) == 1
    early = snapshot.replace(call, "self.noted").replace(start, start + noted)
    programs = [load_program(before + header + text, name="noted_state") for text in (snapshot, early)]
    right, wrong = (play_scenario(scenario, program, seed=1) for program in programs)
    assert right.failure is wrong.failure is None
    assert find_difference(wrong, right, scenario.atol) is not None
