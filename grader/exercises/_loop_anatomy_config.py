"""Drivers of lesson 02, first part: config, seed and schedule."""

import dataclasses
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

from grader.observe.fixtures.classifiers import mlp, two_groups
from grader.observe.fixtures.training import (
    Settings,
    plain,
    read_checkpoint,
    scratch_folder,
    untouched_backends,
)
from grader.observe.play import Driver, Env, Scenario, Stage
from grader.observe.recorder import Recorder, type_name
from grader.observe.trace import Fact

# ---- TrainConfig ---------------------------------------------------------------------------------

FIELDS = tuple(field.name for field in dataclasses.fields(Settings))


def _drawn(env: Env, salt: str, low: int, high: int) -> int:
    """A whole number, at least `low` and below `high`. What is drawn cannot be known beforehand."""
    return int(torch.randint(low, high, (), generator=env.generator(salt)))


def _settings(env: Env) -> Settings:
    """Other than the default in every field."""
    warmup_steps = _drawn(env, "warmup_steps", 1, 9)
    return Settings(
        lr=_drawn(env, "lr", 1, 500) / 1000,
        weight_decay=_drawn(env, "weight_decay", 20, 300) / 1000,
        epochs=_drawn(env, "epochs", 4, 30),
        batch_size=_drawn(env, "batch_size", 33, 200),
        warmup_steps=warmup_steps,
        total_steps=warmup_steps + _drawn(env, "total_steps", 100, 200),
        max_norm=_drawn(env, "max_norm", 9, 60) / 8,
        amp_dtype=("bfloat16", "float16")[_drawn(env, "amp_dtype", 0, 2)],
        seed=_drawn(env, "seed", 1, 10_000),
    )


def _record_fields(recorder: Recorder, config: Any, where: str) -> None:
    for name in FIELDS:
        recorder.fact(f"{where} {name}", plain(getattr(config, name, "(없음)")))


def _config_fields(stage: Stage) -> None:
    """Nothing given, everything given, some given."""
    recorder, cls = stage.recorder, stage.student("TrainConfig")
    values = _settings(stage.env).to_dict()
    config = recorder.call(cls)
    recorder.fact("dataclass", dataclasses.is_dataclass(cls))
    _record_fields(recorder, config, "기본값")
    _record_fields(recorder, recorder.call(cls, **values), "준 값")
    some = {name: values[name] for name in ("lr", "seed")}
    _record_fields(recorder, recorder.call(cls, **some), "lr과 seed만 준 설정의")


def _config_frozen(stage: Stage) -> None:
    recorder = stage.recorder
    config = recorder.call(stage.student("TrainConfig"), lr=_settings(stage.env).lr)
    recorder.expect(AttributeError, "만든 뒤에 lr을 바꾸면", setattr, config, "lr", 1.0)
    recorder.fact("바꾸려고 한 뒤의 lr", plain(getattr(config, "lr", "(없음)")))


def _config_to_dict(stage: Stage) -> None:
    recorder, cls = stage.recorder, stage.student("TrainConfig")
    for number, values in enumerate(({}, _settings(stage.env).to_dict()), start=1):
        saved = recorder.call(lambda values=values: cls(**values).to_dict())
        is_dict = isinstance(saved, dict)
        recorder.fact(f"{number}번째 설정의 to_dict() 타입", "dict" if is_dict else type_name(saved))
        for name in FIELDS:
            recorder.fact(f"to_dict()[{name!r}] ({number})", plain(saved.get(name)) if is_dict else None)
        recorder.fact(f"{number}번째 설정을 저장했다 열기", _round_trip(saved))
    _record_change(stage)


def _record_change(stage: Stage) -> None:
    """A frozen config stays what it was, whatever becomes of the dict that it gave away."""
    config = stage.recorder.call(stage.student("TrainConfig"), lr=_settings(stage.env).lr)
    saved = stage.recorder.call(config.to_dict)
    if isinstance(saved, dict):
        saved["lr"] = -1.0
        stage.recorder.fact("to_dict()의 결과를 바꾼 뒤 설정의 lr", plain(getattr(config, "lr", "(없음)")))


def _round_trip(saved: Any) -> str:
    with scratch_folder() as folder:
        try:
            torch.save({"config": saved}, folder / "config.pt")
        except Exception:
            return "torch.save가 실패함"
        return read_checkpoint(folder / "config.pt")[1]


def _write_toml(path: Path, values: dict[str, Any]) -> Path:
    """Strings in quotes, numbers as they are; a TOML file cannot say None."""
    lines = [f"{k} = {v!r}".replace("'", '"') for k, v in values.items() if v is not None]
    path.write_text("# 학습 설정\n" + "\n".join(lines) + "\n", encoding="utf-8")
    return path


def _config_toml(stage: Stage) -> None:
    """Every key, two keys, none; the path as Path and as str."""
    recorder = stage.recorder
    cls: Any = stage.student("TrainConfig")
    every = _settings(stage.env).to_dict()
    files: tuple[dict[str, Any], ...] = (every, {name: every[name] for name in ("lr", "epochs")}, {})
    with scratch_folder() as folder:
        for number, values in enumerate(files, start=1):
            path = _write_toml(folder / f"run{number}.toml", values)
            config = recorder.call(
                lambda path=path, number=number: cls.from_toml(path if number == 1 else str(path))
            )
            _record_fields(recorder, config, f"{number}번째 파일의")


def _config_unknown_key(stage: Stage) -> None:
    recorder = stage.recorder
    cls: Any = stage.student("TrainConfig")
    recorder.call(cls)

    def load(path: Path, messages: list[str]) -> None:
        try:
            cls.from_toml(path)
        except ValueError as error:
            messages.append(str(error))
            raise

    for key in (_typo(stage.env), *_NO_FIELDS):
        messages: list[str] = []
        with scratch_folder() as folder:
            path = _write_toml(folder / "typo.toml", {"lr": 0.1, key: 5})
            recorder.expect(ValueError, f"{key}라는 키가 있는 파일", load, path, messages)
        recorder.fact(f"메시지에 {key}라는 이름이 있음", any(key in m for m in messages))


_NO_FIELDS = ("to_dict", "from_toml", "__doc__")
"""Attributes of every config, and no settings."""


def _typo(env: Env) -> str:
    """A field's name with two letters exchanged."""
    name = ("weight_decay", "batch_size", "warmup_steps", "total_steps")[_drawn(env, "field", 0, 4)]
    at = _drawn(env, "letter", 0, len(name) - 1)
    while name[at] == name[at + 1]:
        at -= 1
    return name[:at] + name[at + 1] + name[at] + name[at + 2 :]


def _possible(env: Env) -> tuple[dict[str, Any], ...]:
    steps = _drawn(env, "steps", 11, 90)
    return {"epochs": 1, "batch_size": 1}, {"warmup_steps": 0}, {"warmup_steps": steps, "total_steps": steps}


def _impossible(env: Env) -> tuple[dict[str, Any], ...]:
    number = _drawn(env, "number", 11, 90)
    return (
        {"lr": 0.0},
        {"lr": -number / 100},
        {"epochs": 0},
        {"epochs": -number},
        {"batch_size": 0},
        {"batch_size": -number},
        {"warmup_steps": number + 1, "total_steps": number},
        {"total_steps": _drawn(env, "total_steps", 1, 10)},
    )


def _config_validation(stage: Stage) -> None:
    """Impossible values, also out of a file; the outermost possible ones are no mistake."""
    recorder = stage.recorder
    cls: Any = stage.student("TrainConfig")
    recorder.call(cls)
    for values in (*_possible(stage.env), *_impossible(stage.env)):
        recorder.expect(ValueError, ", ".join(f"{k}={v}" for k, v in values.items()), cls, **values)
    with scratch_folder() as folder:
        lr = -_settings(stage.env).lr
        path = _write_toml(folder / "run.toml", {"lr": lr})
        recorder.expect(ValueError, f"파일의 lr={lr}", lambda: cls.from_toml(path))


# ---- seed_everything -----------------------------------------------------------------------------

Draw = Callable[[Any], Fact]


def _drawn_after_seeding(stage: Stage, draws: dict[str, Draw]) -> None:
    """For each source of randomness: does one seed repeat it, does another seed change it?

    Which numbers come is not compared, so that any way of seeding is right; which calls drew the same ones is,
    in an order of seeds that cannot be known beforehand.
    """
    recorder, env = stage.recorder, stage.env
    first = _drawn(env, "seed", 0, 1000)
    further = torch.randint(0, 3, (5,), generator=env.generator("order")).tolist()
    seeds = [first, first, first + 1, *(first + n for n in further)]
    drawn: list[dict[str, Fact]] = []
    with untouched_backends():
        for seed in seeds:
            generator = recorder.call(stage.student("seed_everything"), seed)
            drawn.append({name: draw(generator) for name, draw in draws.items()})
    for name in draws:
        series = [numbers[name] for numbers in drawn]
        recorder.fact(f"같은 시드로 되풀이됨: {name}", series[0] == series[1])
        recorder.fact(f"다른 시드로 달라짐: {name}", series[0] != series[2])
        recorder.fact(f"호출마다 처음 같은 수가 나온 호출: {name}", [series.index(s) + 1 for s in series])


def _seed_streams(stage: Stage) -> None:
    device = stage.env.device
    draws: dict[str, Draw] = {
        "random": lambda _: [random.random() for _ in range(3)],
        "numpy": lambda _: [float(x) for x in np.random.rand(3)],
        "torch": lambda _: torch.rand(3).tolist(),
    }
    if device.type != "cpu":
        draws[f"torch ({device.type})"] = lambda _: torch.rand(3, device=device).tolist()
    _drawn_after_seeding(stage, draws)


def _seed_training(stage: Stage) -> None:
    """Initial weights, then a dropout mask."""

    def initial(_: Any) -> Fact:
        return [float(x) for x in nn.Linear(3, 2).weight.detach().ravel()]

    def mask(_: Any) -> Fact:
        kept: list[Fact] = (nn.functional.dropout(torch.ones(40), 0.5) > 0).tolist()
        return kept

    _drawn_after_seeding(stage, {"초기 가중치": initial, "드롭아웃": mask})


def _seed_loader(stage: Stage) -> None:
    """Two epochs' order of a shuffling DataLoader that is given the returned generator."""
    types: list[Fact] = []

    def order(generator: Any) -> Fact:
        types.append(type_name(generator))
        loader: DataLoader[Any] = DataLoader(
            TensorDataset(torch.arange(20)), batch_size=6, shuffle=True, generator=generator
        )
        return [int(i) for _ in range(2) for (batch,) in loader for i in batch]

    _drawn_after_seeding(stage, {"배치 순서": order})
    stage.recorder.fact("반환 타입", types)


# ---- warmup_cosine -------------------------------------------------------------------------------


def _rates(stage: Stage, warmup_steps: int, total_steps: int, updates: int, name: str) -> None:
    """Each group's learning rate before each update; the groups start at rates of their own."""
    recorder = stage.recorder
    model = mlp(stage.env, name)
    opt = torch.optim.SGD(two_groups(model, (0.4, 0.05)), lr=0.4)
    recorder.watch(model, opt)
    scheduler = recorder.call(stage.student("warmup_cosine"), opt, warmup_steps, total_steps)

    def move() -> None:
        opt.step()
        scheduler.step()

    rates: list[list[float]] = []
    for _ in range(updates):
        rates.append([float(group["lr"]) for group in opt.param_groups])
        recorder.call(move)
    recorder.array(name, torch.tensor(rates, dtype=torch.float64))


def _schedule_shape(stage: Stage) -> None:
    total = _drawn(stage.env, "total_steps", 13, 20)
    _rates(stage, _drawn(stage.env, "warmup_steps", 3, 7), total, total, "학습률")


def _schedule_end(stage: Stage) -> None:
    """A training run that goes on longer than it was planned."""
    warmup, falling = _drawn(stage.env, "warmup_steps", 2, 4), _drawn(stage.env, "falling", 3, 6)
    _rates(stage, warmup, warmup + falling, warmup + 3 * falling, "학습률")


def _schedule_without_warmup(stage: Stage) -> None:
    total = _drawn(stage.env, "total_steps", 5, 10)
    _rates(stage, 0, total, total + 2, "학습률")


def _schedule_edges(stage: Stage) -> None:
    """One step of warm-up; nothing but warm-up."""
    total, warmup = _drawn(stage.env, "total_steps", 4, 8), _drawn(stage.env, "warmup_steps", 3, 6)
    _rates(stage, 1, total, total + 1, "워밍업이 한 스텝일 때의 학습률")
    _rates(stage, warmup, warmup, warmup + 3, "워밍업뿐일 때의 학습률")


DRIVERS = (
    Driver(
        "TrainConfig",
        (
            Scenario("fields", "필드와 기본값", _config_fields),
            Scenario("frozen", "만든 뒤에 바꾸기", _config_frozen),
            Scenario("to-dict", "to_dict()", _config_to_dict),
            Scenario("toml", "TOML 파일", _config_toml),
            Scenario("unknown-key", "오타가 있는 TOML 파일", _config_unknown_key),
            Scenario("validation", "있을 수 없는 값", _config_validation),
        ),
    ),
    Driver(
        "seed_everything",
        (
            Scenario("streams", "random, numpy, torch", _seed_streams),
            Scenario("training", "초기 가중치와 드롭아웃", _seed_training),
            Scenario("loader", "DataLoader의 순서", _seed_loader),
        ),
    ),
    Driver(
        "warmup_cosine",
        (
            Scenario("shape", "워밍업과 코사인 감쇠", _schedule_shape),
            Scenario("end", "total_steps를 넘긴 학습", _schedule_end),
            Scenario("no-warmup", "warmup_steps=0", _schedule_without_warmup),
            Scenario("edges", "한 스텝짜리 워밍업, 워밍업뿐인 학습", _schedule_edges),
        ),
    ),
)
