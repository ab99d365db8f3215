"""What is replaced is put back and named; what torch and Python do by themselves is nobody's doing."""

import builtins
import copy
import importlib
import marshal
import pkgutil
import sys
import types
from collections.abc import Callable, Iterator
from typing import Any
from unittest.mock import patch

import numpy
import pytest
import torch
from torch.overrides import TorchFunctionMode

import grader.base
import grader.exercises
import grader.observe
import grader.sandbox
import grader.sandbox.inside
from grader.sandbox.inside.child import _replacement_failure
from grader.sandbox.inside.hidden_modules import HiddenModules
from grader.sandbox.inside.originals import Originals
from grader.sandbox.inside.protected_functions import ProtectedFunctions

SOURCE = """
import functools

import torch

def helper():
    return 1

def around(function):
    def inner():
        return function()
    return inner

@around
def wrapped():
    return 1

def defaulted(first=1, *, second=1):
    return first * second

@functools.lru_cache
def cached():
    return 1

class Base:
    def shared(self):
        return 1

class Thing(Base):
    number = 3
    def own(self):
        return 2
    @staticmethod
    def made():
        return 1
    @property
    def read(self):
        return 1
    @functools.cached_property
    def kept(self):
        return 1

class Stepping(torch.optim.SGD):
    def step(self, closure=None):
        return super().step(closure)
"""


@pytest.fixture
def module() -> Iterator[types.ModuleType]:
    made = types.ModuleType("grader.made_for_a_test")
    sys.modules[made.__name__] = made
    exec(SOURCE, made.__dict__)
    yield made
    del sys.modules[made.__name__]


@pytest.fixture
def originals(module: types.ModuleType) -> Originals:
    kept = Originals()
    kept.remember([module])
    return kept


def test_what_was_swapped_and_swapped_back_is_named(originals: Originals, module: Any) -> None:
    own = module.helper.__code__
    swap_code(module)
    module.helper.__code__ = own
    assert originals.restore() == ["helper"]


ONLY_BEFORE = {"absent_packages", "isolation", "seccomp", "server", "system_calls"}
"""Modules of `grader.sandbox.inside` whose code runs in no child, or before its submission."""


@pytest.mark.parametrize(
    "name",
    [one.name for one in pkgutil.iter_modules(grader.sandbox.inside.__path__) if one.name not in ONLY_BEFORE],
)
def test_what_runs_beside_a_submission_has_builtins_of_its_own(name: str) -> None:
    """A builtin function that is replaced and put back at once would lie to it, and nobody would notice."""
    module = importlib.import_module(f"grader.sandbox.inside.{name}")
    owners = [module, *(value for value in vars(module).values() if isinstance(value, type))]
    functions = [
        value
        for owner in owners
        for value in vars(owner).values()
        if isinstance(value, types.FunctionType) and value.__code__.co_filename == module.__file__
    ]
    assert functions
    assert [one for one in functions if one.__builtins__ is vars(builtins)] == []


def swap_code(module: types.ModuleType) -> None:
    module.helper.__code__ = (lambda: 2).__code__


class OtherModule(types.ModuleType):
    """A module that answers for itself, and whose attributes cannot be set."""

    def __getattribute__(self, name: str) -> Any:
        return (lambda: 2) if name == "helper" else super().__getattribute__(name)

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError(name)


class OtherBase:
    def shared(self) -> int:
        return 5


class ActsWhenItIsDeleted:
    """Calls a function when nobody refers to it any more."""

    def __init__(self, act: Callable[[], object]) -> None:
        self.act = act

    def __del__(self) -> None:
        self.act()


REPLACED: dict[str, Callable[[Any], object]] = {
    "grader.made_for_a_test.helper": lambda m: setattr(m, "helper", lambda: 2),
    "Thing.own": lambda m: setattr(m.Thing, "own", lambda self: 5),
    "Thing.number": lambda m: setattr(m.Thing, "number", 4),
    "Thing.shared": lambda m: setattr(m.Thing, "shared", lambda self: 5),
    "Stepping.__init__": lambda m: setattr(m.Stepping, "__init__", lambda self, *a, **k: None),
    "helper": swap_code,
    "defaulted": lambda m: setattr(m.defaulted, "__defaults__", (2,)),
    "defaulted ": lambda m: m.defaulted.__kwdefaults__.update(second=2),
    "defaulted  ": lambda m: (delattr(m.defaulted, "__defaults__"), delattr(m.defaulted, "__kwdefaults__")),
    "around.<locals>.inner": lambda m: setattr(m.wrapped.__closure__[0], "cell_contents", lambda: 2),
    "wrapped": lambda m: setattr(m.wrapped.__closure__[0].cell_contents, "__code__", (lambda: 2).__code__),
    "Thing.read": lambda m: setattr(m.Thing.read.fget, "__code__", (lambda self: 2).__code__),
    "Thing.kept": lambda m: setattr(m.Thing.kept.func, "__code__", (lambda self: 2).__code__),
    "cached": lambda m: (setattr(m.cached.__wrapped__, "__code__", (lambda: 2).__code__), m.cached()),
    "Thing.made": lambda m: setattr(m.Thing.made, "__code__", (lambda: 2).__code__),
    "grader.made_for_a_test": lambda m: setattr(m, "__class__", OtherModule),
    "Thing": lambda m: setattr(m.Thing, "__bases__", (OtherBase,)),
    "grader.made_for_a_test.helper ": lambda m: setattr(
        m, "helper", ActsWhenItIsDeleted(lambda: setattr(m, "helper", lambda: 2))
    ),
    "defaulted   ": lambda m: setattr(
        m.defaulted,
        "__defaults__",
        (ActsWhenItIsDeleted(lambda: setattr(m.defaulted, "__code__", (lambda: 2).__code__)),),
    ),
}


def test_what_is_changed_whenever_it_is_restored_is_an_error(originals: Originals, module: Any) -> None:
    def replace() -> None:
        module.helper = ActsWhenItIsDeleted(replace)

    replace()
    with pytest.raises(RuntimeError, match=r"`grader\.made_for_a_test\.helper`"):
        originals.restore()
    module.helper.act = lambda: None
    assert originals.restore() == ["grader.made_for_a_test.helper"]


@pytest.mark.parametrize(("name", "act"), REPLACED.items(), ids=[*REPLACED])
def test_it_is_put_back_and_named(
    originals: Originals, module: Any, name: str, act: Callable[[Any], object]
) -> None:
    act(module)
    assert originals.restore() == [name.strip()]
    assert originals.restore() == []
    assert module.helper() == module.wrapped() == module.defaulted() == module.Thing.made() == 1
    assert module.Thing().read == module.Thing().kept == module.cached() == 1
    assert (module.Thing().shared(), module.Thing().own(), module.Thing.number) == (1, 2, 3)


def test_a_cell_that_was_empty_is_emptied_again() -> None:
    """None in it would be another content."""

    def around() -> Callable[[], object]:
        def inner() -> object:
            return late

        if not inner:
            late = None
        return inner

    inner = around()
    kept = ProtectedFunctions()
    kept.protect(inner)
    (cell,) = inner.__closure__ or ()
    cell.cell_contents = None
    assert len(kept.restore()) == 1
    with pytest.raises(NameError):
        inner()
    assert kept.restore() == []


def test_what_numpy_dispatches_to_and_what_that_calls_is_put_back() -> None:
    kept, stack, inside = Originals(), numpy.stack.__wrapped__, numpy._core.shape_base
    kept.remember_libraries()
    stack.__code__ = (lambda arrays: 2).__code__
    inside._nx = None
    assert kept.restore() == ["numpy._core.shape_base._nx", "stack"]
    assert numpy.stack([[1], [2]]).tolist() == [[1], [2]]


@pytest.mark.parametrize("of_a_class", [False, True])
def test_two_names_that_exchange_their_values_are_put_back(
    originals: Originals, module: Any, of_a_class: bool
) -> None:
    """Taken away and set again, they stand in another order: value by value, all is as it was."""
    owner = module.Thing if of_a_class else module
    own = [(name, value) for name, value in vars(owner).items() if name[:2] != "__"]
    (first, one), (second, other) = own[-2:]
    delattr(owner, first)
    delattr(owner, second)
    setattr(owner, second, one)
    setattr(owner, first, other)
    assert sorted(originals.restore()) == sorted(f"{owner.__name__}.{name}" for name in (first, second))
    assert (vars(owner)[first], vars(owner)[second]) == (one, other)
    assert originals.restore() == []


def test_what_is_taken_away_comes_back(originals: Originals, module: Any) -> None:
    del module.Thing.own
    assert originals.restore() == ["Thing.own"]
    assert module.Thing().own() == 2


def test_a_first_instance_of_an_optimizer_replaces_nothing(originals: Originals, module: Any) -> None:
    """Torch wraps the class' `step` then."""
    module.Stepping([torch.nn.Parameter(torch.zeros(1))], lr=0.1).step()
    assert originals.restore() == []


def test_copying_and_importing_replace_nothing(originals: Originals, module: Any) -> None:
    copy.deepcopy(module.Thing())
    module.late = types.ModuleType("late")
    assert originals.restore() == []


def test_a_module_of_another_name_is_put_back() -> None:
    """As `sys.modules["torch"] = mine` would be what the next driver imports."""
    kept, original = Originals(), types.ModuleType("made_for_a_test")
    sys.modules[original.__name__] = original
    try:
        kept.remember([original])
        sys.modules[original.__name__] = types.ModuleType("made_for_a_test")
        assert kept.restore() == ["made_for_a_test"]
        assert sys.modules[original.__name__] is original
    finally:
        del sys.modules[original.__name__]


def test_what_sees_every_call_is_left() -> None:
    kept = Originals()
    kept.remember_libraries()
    torch.nn.modules.module.register_module_forward_hook(lambda module, inputs, output: None)
    TorchFunctionMode().__enter__()
    assert kept.restore() == ["_global_forward_hooks", "TorchFunctionMode"]
    assert kept.restore() == []


@pytest.fixture
def hidden(monkeypatch: pytest.MonkeyPatch) -> Iterator[HiddenModules]:
    """The grader's modules, hidden as in a child, for as long as a test takes."""
    for name in ("__path__", "base", "observe", "exercises", "sandbox"):
        monkeypatch.setattr(grader, name, getattr(grader, name))  # to put it back: hiding removes it
    with patch.dict(sys.modules):
        yield HiddenModules()


def test_what_is_the_graders_own_is_not_named_to_the_learner(hidden: HiddenModules) -> None:
    """A recorder, and what came in a parcel after the hiding. The sandbox itself: the attack `patches_recorder`."""
    code = compile("def judge(): pass\ndriver = judge", "<parcel>", "exec")
    hidden.unpack(marshal.dumps([("grader.exercises.made_for_a_test", code)]))
    assert "grader.observe.recorder" not in sys.modules
    told = _replacement_failure(
        ["Recorder.array", "Recorder.call", "judge", "torch.relu"], hidden.grader_names()
    )
    assert told.message.endswith("실행하는 동안 바뀐 것: 채점기의 코드, `torch.relu`")
    assert not told.own, "no raise of the learner's"
