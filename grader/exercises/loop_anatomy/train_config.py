"""Driver of `TrainConfig`, a frozen config with defaults, validation, `to_dict` and `from_toml`.

Promises of the exercise, and the scenarios that check them:
    these fields and defaults: `fields`; they cannot be changed: `frozen`
    impossible values raise a ValueError, and possible ones do not: `validation`
    `to_dict` returns plain values, in a dict of its own: `to-dict`, `to-dict-change`
    `from_toml` reads a file, whose keys may be left out: `toml`, `toml-zero`
    an unknown key raises a ValueError that names it: `unknown-key`

A new field is added to `_FIELDS` and `_values` here, to `fixtures/training.py Settings`, and to
`experiments/loop_anatomy/digits.py RunConfig`.

A scenario decides the check that `check=` names, or that of its name. How to add one, or a promise: grader/ADDING.md.
"""

from pathlib import Path
from typing import Any

import torch

from grader.exercises.fixtures.checkpoints import as_fact, read_checkpoint, scratch_folder
from grader.observe.play import Driver, Env, Stage
from grader.observe.recorder import Recorder
from grader.observe.values import type_name

driver = Driver("TrainConfig")

_FIELDS = (
    *("lr", "weight_decay", "epochs", "batch_size"),
    *("warmup_steps", "total_steps", "max_norm", "amp_dtype", "seed"),
)
"""Names of the fields of a TrainConfig."""

_OTHER_ATTRIBUTES = ("to_dict", "from_toml", "__doc__")
"""Names of attributes of a config that are no fields, and so must be refused as keys of a file. A program that tests
`hasattr` accepts them."""
_ALMOST_FIELDS = ("batch-size", "Batch_Size")
"""Keys that become a field's name if a program rewrites them, as tools of the command line do."""
_TABLES = ("optimizer", "train", "training", "config")
"""Names of tables in a file. A program may open one of them in place of the file."""


def _values(env: Env) -> dict[str, Any]:
    """Return a valid value for each field, drawn from a range that leaves out its default."""
    warmup_steps = env.draw("warmup_steps").whole(1, 8)
    return {
        "lr": env.draw("lr").whole(1, 499) / 1000,
        "weight_decay": env.draw("weight_decay").whole(20, 299) / 1000,
        "epochs": env.draw("epochs").whole(4, 29),
        "batch_size": env.draw("batch_size").whole(33, 199),
        "warmup_steps": warmup_steps,
        "total_steps": warmup_steps + env.draw("total_steps").whole(100, 199),
        "max_norm": env.draw("max_norm").whole(9, 59) / 8,  # the default, 1.0, would be 8 / 8
        "amp_dtype": ("bfloat16", "float16")[env.draw("amp_dtype").whole(0, 1)],
        "seed": env.draw("seed").whole(1, 9999),
    }


def _record_fields(recorder: Recorder, config: Any, prefix: str) -> None:
    """Record the value of each field of a config as a fact whose name begins with `prefix`."""
    for name in _FIELDS:
        recorder.fact(f"{prefix} {name}", as_fact(getattr(config, name, "필드가 없음")))


@driver.scenario("fields", "필드와 기본값")
def _fields(stage: Stage) -> None:
    """Record the fields of three configs: made with no, with all and with some values.

    A program with a missing field, another default or an `__init__` that ignores values shows.
    """
    recorder, cls = stage.recorder, stage.student("TrainConfig")
    values = _values(stage.env)
    config = recorder.call(cls)
    _record_fields(recorder, config, "기본값")
    _record_fields(recorder, recorder.call(cls, **values), "준 값")
    two_values = {name: values[name] for name in ("lr", "seed")}
    _record_fields(recorder, recorder.call(cls, **two_values), "lr과 seed만 준 설정의")


@driver.scenario("frozen", "만든 뒤에 바꾸기")
def _frozen(stage: Stage) -> None:
    """Set a field of a config, and record whether that raises, no matter what, and what it changes.

    A program without `frozen=True` lets fields change.
    """
    recorder = stage.recorder
    config = recorder.call(stage.student("TrainConfig"), lr=_values(stage.env)["lr"])
    recorder.record_raised(Exception, "만든 뒤에 lr을 바꾸면", setattr, config, "lr", 1.0)
    recorder.fact("바꾸려고 한 뒤의 lr", as_fact(getattr(config, "lr", "필드가 없음")))


@driver.scenario("to-dict", "to_dict()")
def _to_dict(stage: Stage) -> None:
    """Record the dict of a default config and of another one, and whether it can be saved and opened as a checkpoint.

    A program that leaves out a field, or returns something else than plain values in a dict, shows.
    """
    recorder, cls = stage.recorder, stage.student("TrainConfig")
    for number, values in enumerate(({}, _values(stage.env)), start=1):
        saved = recorder.call(lambda values=values: cls(**values).to_dict())
        is_dict = isinstance(saved, dict)
        recorder.fact(f"{number}번째 설정의 to_dict() 타입", "dict" if is_dict else type_name(saved))
        for name in _FIELDS:
            value = as_fact(saved.get(name, "키가 없음")) if is_dict else None
            recorder.fact(f"{number}번째 설정의 to_dict()[{name!r}]", value)
        recorder.fact(f"{number}번째 설정을 저장했다 열기", _saving_in_words(saved))


@driver.scenario("to-dict-change", "to_dict()의 결과를 바꾸기", check="to-dict")
def _to_dict_change(stage: Stage) -> None:
    """Change the returned dict, and record whether the config changes.

    A program that returns `self.__dict__` hands out the frozen config's own dict: changing that changes the config.
    """
    config = stage.recorder.call(stage.student("TrainConfig"), lr=_values(stage.env)["lr"])
    saved = stage.recorder.call(config.to_dict)
    if isinstance(saved, dict):
        saved["lr"] = -1.0
        stage.recorder.fact(
            "to_dict()의 결과를 바꾼 뒤 설정의 lr", as_fact(getattr(config, "lr", "필드가 없음"))
        )


def _saving_in_words(saved: Any) -> str:
    """Save a value with `torch.save` and open the file; return in Korean whether both worked, or what failed."""
    with scratch_folder() as folder:
        try:
            torch.save({"config": saved}, folder / "config.pt")
        except Exception:
            return "torch.save가 실패함"
        return read_checkpoint(folder / "config.pt").outcome


@driver.scenario("toml", "TOML 파일")
def _toml(stage: Stage) -> None:
    """Read a file with every key, whose path is a Path, then one with two keys and an empty one, whose paths are texts.

    A program that needs all keys, or takes only one kind of path, raises or has other fields.
    """
    recorder = stage.recorder
    cls: Any = stage.student("TrainConfig")
    all_values = _values(stage.env)
    two_values = {name: all_values[name] for name in ("lr", "epochs")}
    with scratch_folder() as folder:
        for number, values in enumerate((all_values, two_values, {}), start=1):
            path = _write_toml(folder / f"run{number}.toml", values)
            config = recorder.call(
                lambda path=path, number=number: cls.from_toml(path if number == 1 else str(path))
            )
            _record_fields(recorder, config, f"{number}번째 파일의")


@driver.scenario("toml-zero", "0이 적힌 TOML 파일", check="toml")
def _toml_zero(stage: Stage) -> None:
    """Read a file whose values are zero.

    A program that tests `if value:` takes a zero in the file for a missing value.
    """
    recorder = stage.recorder
    cls: Any = stage.student("TrainConfig")
    values = {"warmup_steps": 0, "weight_decay": 0.0, "max_norm": 0.0, "seed": 0}
    with scratch_folder() as folder:
        path = _write_toml(folder / "zero.toml", values)
        config = recorder.call(lambda: cls.from_toml(path))
        for name in values:
            recorder.fact(f"파일에 0으로 적힌 {name}", as_fact(getattr(config, name, "필드가 없음")))


@driver.scenario("unknown-key", "오타가 있는 TOML 파일")
def _unknown_key(stage: Stage) -> None:
    """Read files with keys that are no fields; record what is raised and whether its message names the key.

    The keys are a misspelt field, the names of `_OTHER_ATTRIBUTES`, `_ALMOST_FIELDS` and `_TABLES`. A program that
    ignores such a key, or lets a TypeError out, does not raise a ValueError that names it. The misspelt key follows
    from the seed and is part of the facts' names.
    """
    recorder = stage.recorder
    cls: Any = stage.student("TrainConfig")
    recorder.call(cls)  # a class that refuses even its defaults fails here
    messages: list[str] = []  # `record_raised` records only the type of an exception

    def load(path: Path) -> None:
        try:
            cls.from_toml(path)
        except ValueError as error:
            messages.append(str(error))
            raise

    with scratch_folder() as folder:
        for key in (_typo(stage.env), *_OTHER_ATTRIBUTES, *_ALMOST_FIELDS):
            messages.clear()
            path = _write_toml(folder / "typo.toml", {"lr": 0.1, key: 5})
            recorder.record_raised(ValueError, f"{key}라는 키가 있는 파일", load, path)
            recorder.fact(f"메시지에 {key}라는 이름이 있음", any(key in message for message in messages))
        path = folder / "table.toml"
        for table in _TABLES:
            path.write_text(f"epochs = 2\n\n[{table}]\nlr = {_values(stage.env)['lr']}\n", encoding="utf-8")
            recorder.record_raised(ValueError, f"[{table}]이라는 표가 있는 파일", load, path)


@driver.scenario("validation", "있을 수 없는 값")
def _validation(stage: Stage) -> None:
    """Give values inside and outside their limits, most to the class and one to `from_toml`; record what is raised.

    A program that does not check a value, or refuses one just inside its limit such as `epochs=1`, shows. The values
    are part of the facts' names.
    """
    recorder = stage.recorder
    cls: Any = stage.student("TrainConfig")
    recorder.call(cls)  # a class that refuses even its defaults fails here
    for values in (*_allowed_values(stage.env), *_refused_values(stage.env)):
        given = ", ".join(f"{name}={value}" for name, value in values.items())
        recorder.record_raised(ValueError, given, cls, **values)
    with scratch_folder() as folder:
        lr = -_values(stage.env)["lr"]
        path = _write_toml(folder / "run.toml", {"lr": lr})
        recorder.record_raised(ValueError, f"파일의 lr={lr}", lambda: cls.from_toml(path))


def _write_toml(path: Path, values: dict[str, Any]) -> Path:
    """Write values to a TOML file and return its path."""
    lines = [f"{key} = {value!r}".replace("'", '"') for key, value in values.items()]
    path.write_text("# 학습 설정\n" + "\n".join(lines) + "\n", encoding="utf-8")
    return path


def _typo(env: Env) -> str:
    """Return a field's name with two neighbouring letters exchanged; both follow from the seed."""
    name = ("weight_decay", "batch_size", "warmup_steps", "total_steps")[env.draw("field").whole(0, 3)]
    at = env.draw("letter").whole(0, len(name) - 2)
    return name[:at] + name[at + 1] + name[at] + name[at + 2 :]


def _allowed_values(env: Env) -> tuple[dict[str, Any], ...]:
    """Return keyword arguments of configs whose values are just inside the limits."""
    steps = env.draw("steps").whole(11, 89)
    return {"epochs": 1, "batch_size": 1}, {"warmup_steps": 0}, {"warmup_steps": steps, "total_steps": steps}


def _refused_values(env: Env) -> tuple[dict[str, Any], ...]:
    """Return keyword arguments of configs that must be refused, each because one value is outside its limit."""
    number = env.draw("number").whole(11, 89)
    return (
        {"lr": 0.0},
        {"lr": -number / 100},
        {"epochs": 0},
        {"epochs": -number},
        {"batch_size": 0},
        {"batch_size": -number},
        {"warmup_steps": number + 1, "total_steps": number},
        {"total_steps": env.draw("total_steps").whole(1, 9)},  # fewer than the default of warmup_steps, 10
    )
