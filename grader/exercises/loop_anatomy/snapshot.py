"""Driver of `Snapshot`, which saves the whole state of a run to one file and restores it into new objects.

Promises of the exercise, and the scenarios that check them:
    model and optimizer go on as without an interruption: `sgd`, `adamw`; so does the scaler: `scaler`
    the random numbers of random, NumPy and torch go on, too: `python`, `numpy`, `torch`
    the order of a shuffling loader goes on, too: `loader`
    loading changes no modes: `sgd`, `adamw`
    one file, with the given name, that opens with `weights_only=True`; saving changes nothing: `file`
    saving and loading several times, with everything together: `together`, `same-file`

In each scenario but `file`, one Snapshot (`saver`) saves an *uninterrupted* run, which goes on, and another one loads
the file into the objects of a *resumed* run. What both give afterwards must be the same.

Two things catch programs that do not read all from the file. Before loading, the file is moved, but for `same-file`: a
program that keeps state in memory, under the path, does not find it. And the `saver` is made before anything is trained
or drawn: a program that notes a state when its object is made, and not when it saves, restores an older one.

A scenario decides the check that `check=` names, or that of its name. How to add one, or a promise: grader/ADDING.md.
"""

import random
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import nn
from torch.optim import Optimizer
from torch.utils.data import DataLoader

from grader.exercises.fixtures.checkpoints import (
    NOT_A_DICT,
    OPENED,
    flat_state,
    read_checkpoint,
    scratch_folder,
)
from grader.exercises.fixtures.classifiers import (
    Batch,
    MakeOptimizer,
    adamw,
    batches,
    last_layer_to_eval,
    loss_function,
    mlp,
    momentum_sgd,
    norm_dropout_mlp,
    scale_rates,
    sgd,
)
from grader.observe.play import Driver, Env, Stage
from grader.observe.trace import Fact

driver = Driver("Snapshot")

_EPOCH_SAMPLES, _BATCH_SIZE = 12, 4
"""Samples in an epoch of a shuffling loader, and its batch size."""


@dataclass
class _RunObjects:
    """The objects whose state a Snapshot saves and restores; None if a run has no scaler or loader generator."""

    model: nn.Module
    opt: Optimizer
    scaler: torch.amp.GradScaler | None = None
    loader_generator: torch.Generator | None = None


def _make_snapshot(stage: Stage, run: _RunObjects) -> Any:
    """Return the learner's Snapshot of these objects; arguments that would be None are left out."""
    optional = {"scaler": run.scaler, "loader_generator": run.loader_generator}
    given = {name: value for name, value in optional.items() if value is not None}
    return stage.recorder.call(stage.student("Snapshot"), run.model, run.opt, **given)


def _move_and_load(stage: Stage, run: _RunObjects, path: Path) -> None:
    """Move the file, and load it into the objects by a new Snapshot, as another process would."""
    stage.recorder.call(_make_snapshot(stage, run).load, _move(path))


def _move(path: Path) -> Path:
    """Rename the file, so that a program which remembers its path does not find it; return the new path."""
    return path.rename(path.with_name("moved.state"))


def _change_random_states(env: Env) -> None:
    """Set random states that differ from those at saving, as another process would have."""
    seed = env.number("another process")
    random.seed(seed)
    np.random.seed(seed)
    env.set_random_state("another process")


def _train(run: _RunObjects, data: Sequence[Batch], env: Env) -> list[float]:
    """Make one update for each batch; return the scaler's scale after each update, an empty list without a scaler."""
    loss_fn, scales = loss_function(env), []
    for xb, yb in data:
        run.opt.zero_grad()
        loss = loss_fn(run.model(xb), yb)
        if run.scaler is None:
            loss.backward()
            run.opt.step()
        else:
            run.scaler.scale(loss).backward()
            run.scaler.step(run.opt)
            run.scaler.update()
            scales.append(run.scaler.get_scale())
    return scales


# ---- model, optimizer and scaler -----------------------------------------------------------------


def _record_ends(stage: Stage, uninterrupted: _RunObjects, resumed: _RunObjects) -> None:
    """Record the resumed run's model, and whether it equals the uninterrupted run's to the last bit."""
    ends = [flat_state(run.model.state_dict(), run.model) for run in (uninterrupted, resumed)]
    stage.recorder.array("이어 간 뒤의 모델", ends[1])
    stage.recorder.fact("중단 없이 학습한 모델과 비트까지 같음", torch.equal(*ends))


def _record_continued_updates(stage: Stage, make_opt: MakeOptimizer, *, batch_norm: bool) -> None:
    """Train with an interruption and without, with a model and an optimizer only; record the updates and both ends.

    Batches come in a fixed order and nothing is random. The resumed model's last layer is in eval mode, which changes
    nothing that it computes, but shows a program that calls `train()`.

    Args:
        stage: the scenario's stage.
        make_opt: makes the optimizer.
        batch_norm: use a model with BatchNorm; otherwise an `mlp`.
    """
    env, recorder = stage.env, stage.recorder

    def make_run(salt: str) -> _RunObjects:
        model = norm_dropout_mlp(env, salt) if batch_norm else mlp(env, salt)
        for module in model.modules():
            if isinstance(module, nn.Dropout):
                module.p = 0.0  # it would draw random numbers, which other scenarios check
        return _RunObjects(model, make_opt(model))

    data = batches(env, (4,) * 6)
    uninterrupted, resumed = make_run("saved"), make_run("new")
    last_layer_to_eval(resumed.model)
    saver = _make_snapshot(stage, uninterrupted)
    _train(uninterrupted, data[:3], env)
    scale_rates(uninterrupted.opt, 0.5)  # as a schedule would have left them
    with scratch_folder() as folder:
        stage.recorder.call(saver.save, folder / "run.pt")
        _train(uninterrupted, data[3:], env)
        _move_and_load(stage, resumed, folder / "run.pt")
    recorder.fact("불러온 뒤의 모드", [module.training for module in resumed.model.modules()])
    recorder.watch(resumed.model, resumed.opt)
    _train(resumed, data[3:], env)
    _record_ends(stage, uninterrupted, resumed)


@driver.scenario("sgd", "모멘텀 SGD와 배치 정규화", check="objects")
def _sgd(stage: Stage) -> None:
    """Continue with momentum and BatchNorm, and record the updates.

    A program that does not save momentum, rates or BatchNorm's statistics goes on with other updates.
    """
    _record_continued_updates(stage, momentum_sgd, batch_norm=True)


@driver.scenario("adamw", "AdamW", check="objects")
def _adamw(stage: Stage) -> None:
    """Continue with AdamW, and record the updates.

    A program that does not save AdamW's moments and counts goes on with other updates.
    """
    _record_continued_updates(stage, adamw, batch_norm=False)


@driver.scenario("scaler", "스케일러의 배율", check="objects")
def _scaler(stage: Stage) -> None:
    """Continue with a scaler that has met overflows, and record its scales.

    Batches with an infinite input overflow, which lowers the scale. A program that saves nothing of the scaler, or only
    its scale, does not know when the scale is to grow next.
    """
    env = stage.env
    data = batches(env, (4,) * 11)
    for number in (1, 2):
        data[number][0][0, 0] = torch.inf

    def make_run(salt: str, scale: float, growth_interval: int) -> _RunObjects:
        model = mlp(env, salt)
        scaler = torch.amp.GradScaler(env.device.type, init_scale=scale, growth_interval=growth_interval)
        return _RunObjects(model, sgd(model), scaler)

    uninterrupted, resumed = make_run("saved", 2.0**20, 3), make_run("new", 2.0**16, 2000)
    saver = _make_snapshot(stage, uninterrupted)
    _train(uninterrupted, data[:5], env)
    with scratch_folder() as folder:
        stage.recorder.call(saver.save, folder / "run.pt")
        _train(uninterrupted, data[5:], env)
        _move_and_load(stage, resumed, folder / "run.pt")
    assert resumed.scaler is not None
    scales = [resumed.scaler.get_scale(), *_train(resumed, data[5:], env)]
    stage.recorder.fact("이어 간 배율", [*scales])


# ---- random numbers ------------------------------------------------------------------------------


def _python_numbers() -> list[float]:
    """Return numbers drawn from `random`, three of them by `random.gauss`, which draws two at a time and keeps one."""
    return [random.random(), *(random.gauss(0, 1) for _ in range(3))]


def _numpy_numbers() -> list[float]:
    """Return numbers drawn from NumPy, three of them normal: NumPy draws normal numbers two at a time and keeps one."""
    return [float(np.random.rand()), *np.random.normal(size=3).tolist()]


def _torch_numbers() -> list[float]:
    """Return numbers drawn from torch on the CPU and on every GPU."""
    numbers = [*torch.randn(3).tolist(), *torch.rand(2).tolist()]
    for device in range(torch.cuda.device_count()):
        numbers += torch.rand(2, device=f"cuda:{device}").tolist()
    return numbers


def _record_continued_numbers(stage: Stage, draw: Callable[[], list[float]]) -> None:
    """Save and load, and record whether the numbers drawn after loading are those that were drawn after saving.

    Numbers are also drawn between making the object that saves and saving: the state belongs to the moment of saving.
    """
    env = stage.env
    model, new = mlp(env, "saved"), mlp(env, "new")
    saver = _make_snapshot(stage, _RunObjects(model, sgd(model)))
    for _ in range(3):
        draw()
    with scratch_folder() as folder:
        stage.recorder.call(saver.save, folder / "run.pt")
        expected = draw()
        _move_and_load(stage, _RunObjects(new, sgd(new)), folder / "run.pt")
    found = draw()
    same: list[Fact] = [a == b for a, b in zip(found, expected, strict=True)]
    stage.recorder.claim("이어서 뽑은 난수가 하나씩 같은지", same, found)


@driver.scenario("python", "`random`의 난수", check="streams")
def _python(stage: Stage) -> None:
    """Record the numbers of `random` after loading.

    A program that saves no state of random, or only a seed, goes on with other numbers.
    """
    _record_continued_numbers(stage, _python_numbers)


@driver.scenario("numpy", "`np.random`의 난수", check="streams")
def _numpy(stage: Stage) -> None:
    """Record the numbers of NumPy after loading.

    A program that saves only part of NumPy's state loses the normal number that NumPy keeps.
    """
    _record_continued_numbers(stage, _numpy_numbers)


@driver.scenario("torch", "`torch`의 난수", check="streams")
def _torch(stage: Stage) -> None:
    """Record the numbers of torch after loading.

    A program that saves no state of torch, or only that of the CPU, goes on with other numbers.
    """
    _record_continued_numbers(stage, _torch_numbers)


# ---- the order of a shuffling loader -------------------------------------------------------------


def _shuffling_loader(generator: torch.Generator | None) -> "DataLoader[Any]":
    """Return a loader over the sample numbers 0, 1, 2 …, which shuffles them by the generator."""
    return DataLoader(range(_EPOCH_SAMPLES), _BATCH_SIZE, shuffle=True, generator=generator)  # type: ignore[arg-type]


def _epoch_order(loader: "DataLoader[Any]") -> list[int]:
    """Read one epoch of a `_shuffling_loader`, and return its sample numbers in order."""
    return [int(number) for numbers in loader for number in numbers]


@driver.scenario("loader", "섞는 로더의 순서")
def _loader(stage: Stage) -> None:
    """Record the order of the next two epochs after loading.

    A program that does not save the loader's generator shuffles the next two epochs differently.
    """
    env = stage.env

    def make_run(salt: str) -> _RunObjects:
        model = mlp(env, salt)
        return _RunObjects(model, sgd(model), loader_generator=env.generator(f"order of {salt}"))

    uninterrupted, resumed = make_run("saved"), make_run("new")
    loaders = [_shuffling_loader(run.loader_generator) for run in (uninterrupted, resumed)]
    saver = _make_snapshot(stage, uninterrupted)
    _epoch_order(loaders[0])
    with scratch_folder() as folder:
        stage.recorder.call(saver.save, folder / "run.pt")
        expected = [_epoch_order(loaders[0]) for _ in range(2)]
        _move_and_load(stage, resumed, folder / "run.pt")
    found = [_epoch_order(loaders[1]) for _ in range(2)]
    same: list[Fact] = [a == b for a, b in zip(found, expected, strict=True)]
    stage.recorder.claim("다음 두 에폭의 순서가 하나씩 같은지", same, torch.tensor(found))


# ---- everything together -------------------------------------------------------------------------


def _make_full_run(env: Env, salt: str) -> _RunObjects:
    """Return objects with all states that a Snapshot saves: BatchNorm, dropout, momentum, scaler, loader generator."""
    model = norm_dropout_mlp(env, salt)
    scaler = torch.amp.GradScaler(env.device.type, init_scale=2.0**12, growth_interval=4)
    return _RunObjects(model, sgd(model, momentum=0.9), scaler, env.generator(f"order of {salt}"))


def _train_epochs(
    env: Env, run: _RunObjects, count: int, before_each: Callable[[int], None] = lambda _: None
) -> None:
    """Train for `count` epochs, with shuffled samples and noise from NumPy and random.

    Args:
        env: the scenario's env.
        run: the objects to train.
        count: number of epochs.
        before_each: called before each epoch with its number, from 0; by default nothing happens.
    """
    ((inputs, labels),) = batches(env, (_EPOCH_SAMPLES,))
    loader = _shuffling_loader(run.loader_generator)
    for number in range(count):
        before_each(number)
        for numbers in loader:
            noise = torch.from_numpy(np.random.normal(0, 0.1, (len(numbers), inputs.shape[1]))).to(inputs)
            xb = inputs[numbers.to(inputs.device)] * random.uniform(0.9, 1.1) + noise
            _train(run, [(xb, labels[numbers.to(labels.device)])], env)


@driver.scenario("together", "모두 함께 쓰는 학습")
def _together(stage: Stage) -> None:
    """Save before each of four epochs with everything together, then load two of the files, and train on from each.

    One Snapshot saves all four files. Another one loads the fourth, and then the second, each time with other random
    states. Only the end after the second is compared. A program whose object remembers its first save, or holds live
    tensors instead of copies, restores another moment.
    """
    env, recorder = stage.env, stage.recorder
    uninterrupted, resumed = _make_full_run(env, "saved"), _make_full_run(env, "new")
    with scratch_folder() as folder:
        saver = _make_snapshot(stage, uninterrupted)

        def save(number: int) -> None:
            recorder.call(saver.save, folder / f"epoch-{number}.pt")

        _train_epochs(env, uninterrupted, 4, before_each=save)
        restorer = _make_snapshot(stage, resumed)
        for number in (3, 1):
            _change_random_states(env)
            recorder.call(restorer.load, _move(folder / f"epoch-{number}.pt"))
            _train_epochs(env, resumed, 4 - number)
            # Under the same names each time: what is compared in the end is the run that went on from the second file.
            _record_ends(stage, uninterrupted, resumed)


@driver.scenario("same-file", "같은 파일에 다시 저장하고 다시 불러올 때", check="together")
def _same_file(stage: Stage) -> None:
    """Save twice to one file, load it twice, and train on after each load.

    A program that does not replace the first file, or removes a file when it is loaded, shows.
    """
    env, recorder = stage.env, stage.recorder
    uninterrupted, resumed = (
        _RunObjects(model, sgd(model, momentum=0.9)) for model in (mlp(env, "saved"), mlp(env, "new"))
    )
    data = batches(env, (4,) * 3)
    with scratch_folder() as folder:
        path = folder / "run.pt"
        saver = _make_snapshot(stage, uninterrupted)
        for batch in data[:2]:
            _train(uninterrupted, [batch], env)
            recorder.call(saver.save, path)
        _train(uninterrupted, data[2:], env)
        restorer = _make_snapshot(stage, resumed)
        for _ in range(2):
            recorder.call(restorer.load, path)
            _train(resumed, data[2:], env)
    _record_ends(stage, uninterrupted, resumed)


# ---- the file ------------------------------------------------------------------------------------


def _without_tensors(value: Any) -> Any:
    """Return a copy of a value of nested dicts and lists, with lists in place of tensors, so that `==` compares it."""
    if isinstance(value, torch.Tensor):
        return value.tolist()
    if isinstance(value, dict):
        return {key: _without_tensors(item) for key, item in value.items()}
    return [_without_tensors(item) for item in value] if isinstance(value, list) else value


@contextmanager
def _recorded_changes(stage: Stage, run: _RunObjects) -> Iterator[None]:
    """Record what changes inside this context: gradients, modes, and all that a Snapshot saves but states of GPUs."""

    def states() -> dict[str, Any]:
        kind, keys, *rest = np.random.get_state()
        assert run.loader_generator is not None
        assert run.scaler is not None
        return {
            "random": random.getstate(),
            "np.random": [kind, np.asarray(keys).tolist(), *rest],
            "torch": torch.get_rng_state().tolist(),
            "로더": run.loader_generator.get_state().tolist(),
            "스케일러": run.scaler.state_dict(),
            "모델": flat_state(run.model.state_dict(), run.model).tolist(),
            "옵티마이저": _without_tensors(run.opt.state_dict()),
            "그레이디언트": [_without_tensors(parameter.grad) for parameter in run.model.parameters()],
            "모드": [module.training for module in run.model.modules()],
        }

    before = states()
    yield
    after = states()
    changed: list[Fact] = [name for name in before if before[name] != after[name]]
    stage.recorder.claim("save가 바꾼 것", changed, after["모델"])


@driver.scenario("file", "파일 하나")
def _file(stage: Stage) -> None:
    """Save once, and record what that changes, and whether the file opens; its keys and layout are free.

    Gradients are left from the epoch before, and one layer is in eval mode. The path is given as str. A program that
    draws random numbers, clears gradients, adds a suffix or pickles objects while saving shows.
    """
    env = stage.env
    run = _make_full_run(env, "saved")
    _train_epochs(env, run, 1)
    last_layer_to_eval(run.model)
    with scratch_folder() as folder:
        with _recorded_changes(stage, run):
            stage.recorder.call(_make_snapshot(stage, run).save, str(folder / "run.state"))
        outcome = read_checkpoint(folder / "run.state").outcome
        # Here any layout of the file is right, so it need not hold a dict.
        stage.recorder.fact("weights_only=True로 연 파일", OPENED if outcome == NOT_A_DICT else outcome)
        stage.recorder.fact("파일의 수", len([*folder.iterdir()]))
