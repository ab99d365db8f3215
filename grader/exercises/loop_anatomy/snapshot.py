"""Driver of `Snapshot`, which saves the whole state of a run to one file and restores it into new objects.

Each scenario but the last two is about one part of the state: model and optimizer, scaler, random states, the loader's
order. A program that keeps state elsewhere than in the file loses it, because the file is moved before it is loaded,
and random states are changed.
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

from grader.exercises.fixtures.checkpoints import flat_state, read_checkpoint, scratch_folder
from grader.exercises.fixtures.classifiers import (
    Batch,
    MakeOptimizer,
    adamw,
    batches,
    last_layer_to_eval,
    loss_function,
    mlp,
    norm_dropout_mlp,
    scale_rates,
    sgd,
)
from grader.observe.play import Driver, Env, Stage
from grader.observe.trace import Fact

driver = Driver("Snapshot")

_SAMPLES, _BATCH = 12, 4


@dataclass
class _Objects:
    """The objects that a run's process holds; some scenarios have no scaler or no generator."""

    model: nn.Module
    opt: Optimizer
    scaler: torch.amp.GradScaler | None = None
    generator: torch.Generator | None = None


def _snapshot(stage: Stage, held: _Objects) -> Any:
    """Make the student's Snapshot over these objects; a missing scaler or generator is omitted."""
    others = {"scaler": held.scaler, "loader_generator": held.generator}
    given = {name: value for name, value in others.items() if value is not None}
    return stage.recorder.call(stage.student("Snapshot"), held.model, held.opt, **given)


def _save(stage: Stage, held: _Objects, path: Path | str) -> None:
    stage.recorder.call(_snapshot(stage, held).save, path)


def _load(stage: Stage, held: _Objects, path: Path) -> None:
    """Load as in another process: random states differ, and the file has been moved."""
    _change_random_states(stage.env)
    stage.recorder.call(_snapshot(stage, held).load, _moved(path))


def _moved(path: Path) -> Path:
    return path.rename(path.with_name("moved.state"))


def _change_random_states(env: Env) -> None:
    """Set random states that differ from those at saving, as another process would have."""
    seed = env.number("another process")
    random.seed(seed)
    np.random.seed(seed)
    env.set_random_state("another process")


def _train(held: _Objects, data: Sequence[Batch], env: Env) -> list[float]:
    """Make one update for each batch; return the scale after each, if there is a scaler."""
    loss_fn, scales = loss_function(env), []
    for xb, yb in data:
        held.opt.zero_grad()
        loss = loss_fn(held.model(xb), yb)
        if held.scaler is None:
            loss.backward()
            held.opt.step()
        else:
            held.scaler.scale(loss).backward()
            held.scaler.step(held.opt)
            held.scaler.update()
            scales.append(held.scaler.get_scale())
    return scales


def _record_ends(stage: Stage, whole: _Objects, resumed: _Objects) -> None:
    """Record the resumed model, and whether it equals the uninterrupted one to the last bit."""
    ends = [flat_state(held.model.state_dict(), held.model) for held in (whole, resumed)]
    stage.recorder.array("이어 간 뒤의 모델", ends[1])
    stage.recorder.fact("중단 없이 학습한 모델과 비트까지 같음", torch.equal(*ends))


def _updates_go_on(stage: Stage, make_opt: MakeOptimizer, *, norm: bool) -> None:
    """Record whether updates go on as without an interruption, for a model and an optimizer alone.

    Batches come in a fixed order and nothing is random. The new model's last layer is in eval mode, which changes
    nothing that it computes.
    """
    env, recorder = stage.env, stage.recorder

    def made(salt: str) -> _Objects:
        model = norm_dropout_mlp(env, salt) if norm else mlp(env, salt)
        for module in model.modules():
            if isinstance(module, nn.Dropout):
                module.p = 0.0
        return _Objects(model, make_opt(model))

    data = batches(env, (4,) * 6)
    whole, resumed = made("saved"), made("new")
    last_layer_to_eval(resumed.model)
    _train(whole, data[:3], env)
    scale_rates(whole.opt, 0.5)  # as a schedule would have left them
    with scratch_folder() as folder:
        _save(stage, whole, folder / "run.pt")
        _train(whole, data[3:], env)
        _load(stage, resumed, folder / "run.pt")
    recorder.fact("불러온 뒤의 모드", [module.training for module in resumed.model.modules()])
    recorder.watch(resumed.model, resumed.opt)
    _train(resumed, data[3:], env)
    _record_ends(stage, whole, resumed)


@driver.scenario("sgd", "모멘텀 SGD와 배치 정규화", check="objects")
def _sgd(stage: Stage) -> None:
    _updates_go_on(stage, lambda model: sgd(model, momentum=0.9), norm=True)


@driver.scenario("adamw", "AdamW", check="objects")
def _adamw(stage: Stage) -> None:
    _updates_go_on(stage, adamw, norm=False)


@driver.scenario("scaler", "스케일러의 배율", check="objects")
def _scaler(stage: Stage) -> None:
    """The scale itself, and how long ago it last changed. Batches with an infinite input overflow."""
    env = stage.env
    data = batches(env, (4,) * 11)
    for number in (1, 2):
        data[number][0][0, 0] = torch.inf

    def made(salt: str, scale: float, interval: int) -> _Objects:
        model = mlp(env, salt)
        scaler = torch.amp.GradScaler(env.device.type, init_scale=scale, growth_interval=interval)
        return _Objects(model, sgd(model), scaler)

    whole, resumed = made("saved", 2.0**20, 3), made("new", 2.0**16, 2000)
    _train(whole, data[:5], env)
    with scratch_folder() as folder:
        _save(stage, whole, folder / "run.pt")
        _train(whole, data[5:], env)
        _load(stage, resumed, folder / "run.pt")
    assert resumed.scaler is not None
    scales = [resumed.scaler.get_scale(), *_train(resumed, data[5:], env)]
    stage.recorder.fact("이어 간 배율", [*scales])


def _python_numbers() -> list[float]:
    """Draw numbers, an odd number of normal ones among them: `random.gauss` draws two at a time and keeps one."""
    return [random.random(), *(random.gauss(0, 1) for _ in range(3))]


def _numpy_numbers() -> list[float]:
    """Draw numbers as above: NumPy keeps one, too."""
    return [float(np.random.rand()), *np.random.normal(size=3).tolist()]


def _torch_numbers() -> list[float]:
    numbers = [*torch.randn(3).tolist(), *torch.rand(2).tolist()]
    for device in range(torch.cuda.device_count()):
        numbers += torch.rand(2, device=f"cuda:{device}").tolist()
    return numbers


def _numbers_go_on(stage: Stage, draw: Callable[[], list[float]]) -> None:
    """Record whether the next random numbers after loading are those that would have come after saving."""
    env = stage.env
    model, new = mlp(env, "saved"), mlp(env, "new")
    for _ in range(3):
        draw()
    with scratch_folder() as folder:
        _save(stage, _Objects(model, sgd(model)), folder / "run.pt")
        expected = draw()
        _load(stage, _Objects(new, sgd(new)), folder / "run.pt")
    found = draw()
    same: list[Fact] = [a == b for a, b in zip(found, expected, strict=True)]
    stage.recorder.claim("이어서 뽑은 난수가 같음", same, found)


@driver.scenario("python", "`random`의 난수", check="streams")
def _python(stage: Stage) -> None:
    _numbers_go_on(stage, _python_numbers)


@driver.scenario("numpy", "`np.random`의 난수", check="streams")
def _numpy(stage: Stage) -> None:
    _numbers_go_on(stage, _numpy_numbers)


@driver.scenario("torch", "`torch`의 난수", check="streams")
def _torch(stage: Stage) -> None:
    _numbers_go_on(stage, _torch_numbers)


def _shuffling(generator: torch.Generator | None) -> "DataLoader[Any]":
    return DataLoader(range(_SAMPLES), _BATCH, shuffle=True, generator=generator)  # type: ignore[arg-type]


def _order(loader: "DataLoader[Any]") -> list[int]:
    return [int(row) for rows in loader for row in rows]


@driver.scenario("loader", "섞는 로더의 순서")
def _loader(stage: Stage) -> None:
    """The order of the next two epochs of a shuffling loader."""
    env = stage.env

    def made(salt: str) -> _Objects:
        model = mlp(env, salt)
        return _Objects(model, sgd(model), generator=env.generator(f"order of {salt}"))

    whole, resumed = made("saved"), made("new")
    loaders = [_shuffling(held.generator) for held in (whole, resumed)]
    _order(loaders[0])
    with scratch_folder() as folder:
        _save(stage, whole, folder / "run.pt")
        expected = [_order(loaders[0]) for _ in range(2)]
        _load(stage, resumed, folder / "run.pt")
    found = [_order(loaders[1]) for _ in range(2)]
    same: list[Fact] = [a == b for a, b in zip(found, expected, strict=True)]
    stage.recorder.claim("다음 두 에폭의 순서가 같음", same, torch.tensor(found))


def _whole_run(env: Env, salt: str) -> _Objects:
    """Return a run with everything a snapshot can hold: BatchNorm, dropout, momentum, scaler and loader generator."""
    model = norm_dropout_mlp(env, salt)
    scaler = torch.amp.GradScaler(env.device.type, init_scale=2.0**12, growth_interval=4)
    return _Objects(model, sgd(model, momentum=0.9), scaler, env.generator(f"order of {salt}"))


def _epochs(env: Env, held: _Objects, count: int) -> Iterator[None]:
    """Train on shuffled epochs with noise from NumPy and random; yield before each epoch."""
    ((inputs, labels),) = batches(env, (_SAMPLES,))
    loader = _shuffling(held.generator)
    for _ in range(count):
        yield
        for rows in loader:
            noise = torch.from_numpy(np.random.normal(0, 0.1, (len(rows), inputs.shape[1]))).to(inputs)
            xb = inputs[rows.to(inputs.device)] * random.uniform(0.9, 1.1) + noise
            _train(held, [(xb, labels[rows.to(labels.device)])], env)


@driver.scenario("together", "모두 함께 쓰는 학습")
def _together(stage: Stage) -> None:
    """Train four epochs, and save to a new file before each. Then load the fourth file, and then the second.

    One snapshot object saves all four files, and a second one loads the two.
    """
    env, recorder = stage.env, stage.recorder
    whole, resumed = _whole_run(env, "saved"), _whole_run(env, "new")
    with scratch_folder() as folder:
        saving = _snapshot(stage, whole)
        for number, _ in enumerate(_epochs(env, whole, 4)):
            recorder.call(saving.save, folder / f"epoch-{number}.pt")
        loading = _snapshot(stage, resumed)
        for number in (3, 1):
            _change_random_states(env)
            recorder.call(loading.load, _moved(folder / f"epoch-{number}.pt"))
            for _ in _epochs(env, resumed, 4 - number):
                pass
            _record_ends(stage, whole, resumed)


@driver.scenario("same-file", "같은 파일에 다시 저장하고 다시 불러올 때", check="together")
def _same_file(stage: Stage) -> None:
    """Save twice to one path, then load that file twice: the second save replaces the first, a load keeps the file."""
    env, recorder = stage.env, stage.recorder
    whole, resumed = (
        _Objects(model, sgd(model, momentum=0.9)) for model in (mlp(env, "saved"), mlp(env, "new"))
    )
    data = batches(env, (4,) * 3)
    with scratch_folder() as folder:
        path = folder / "run.pt"
        saving = _snapshot(stage, whole)
        for batch in data[:2]:
            _train(whole, [batch], env)
            recorder.call(saving.save, path)
        _train(whole, data[2:], env)
        loading = _snapshot(stage, resumed)
        for _ in range(2):
            recorder.call(loading.load, path)
            _train(resumed, data[2:], env)
    _record_ends(stage, whole, resumed)


def _plain(value: Any) -> Any:
    """Return a copy with lists for tensors, which can be compared with `==`."""
    if isinstance(value, torch.Tensor):
        return value.tolist()
    if isinstance(value, dict):
        return {key: _plain(item) for key, item in value.items()}
    return [_plain(item) for item in value] if isinstance(value, list) else value


@contextmanager
def _untouched(stage: Stage, held: _Objects) -> Iterator[None]:
    """Record which parts of the state that a snapshot holds, or of the gradients, the body changes."""

    def states() -> dict[str, Any]:
        kind, keys, *rest = np.random.get_state()
        assert held.generator is not None
        assert held.scaler is not None
        return {
            "random": random.getstate(),
            "np.random": [kind, np.asarray(keys).tolist(), *rest],
            "torch": torch.get_rng_state().tolist(),
            "로더": held.generator.get_state().tolist(),
            "스케일러": held.scaler.state_dict(),
            "모델": flat_state(held.model.state_dict(), held.model).tolist(),
            "옵티마이저": _plain(held.opt.state_dict()),
            "그레이디언트": [_plain(parameter.grad) for parameter in held.model.parameters()],
            "모드": [module.training for module in held.model.modules()],
        }

    before = states()
    yield
    after = states()
    changed: list[Fact] = [name for name in before if before[name] != after[name]]
    stage.recorder.claim("save가 바꾼 것", changed, after["모델"])


@driver.scenario("file", "파일 하나")
def _file(stage: Stage) -> None:
    """One file, whose path is given as text. Only whether it opens is recorded, not its keys or layout.

    Gradients are left from the epoch before, and one layer is in eval mode.
    """
    env = stage.env
    held = _whole_run(env, "saved")
    for _ in _epochs(env, held, 1):
        pass
    last_layer_to_eval(held.model)
    with scratch_folder() as folder:
        with _untouched(stage, held):
            _save(stage, held, str(folder / "run.state"))
        how = read_checkpoint(folder / "run.state")[1]
        stage.recorder.fact("weights_only=True로 연 파일", "열림" if how == "dict가 아님" else how)
        stage.recorder.fact("파일의 수", len([*folder.iterdir()]))
