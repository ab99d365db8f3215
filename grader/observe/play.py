"""Plays an exercise's scenarios with one program and returns the trace, in the same way for the solution,
for every known mistake and for a submission."""

import random
import time
import zlib
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.random import mtrand
from torch import Tensor, nn

from grader.observe.program import STUDENT_ERRORS, Program
from grader.observe.recorder import Diverged, Recorder, ScenarioOver
from grader.observe.trace import Failure, Run, Trace


class TimeLimit(BaseException):
    """The learner's code ran longer than it may. Not an `Exception`: `except Exception` must not eat it."""


@dataclass(frozen=True)
class Env:
    """What a scenario is built from: everything random in it follows from `seed`."""

    seed: int
    device: torch.device
    scenario: str

    def generator(self, salt: str = "") -> torch.Generator:
        """A CPU generator of its own for each scenario and salt."""
        return torch.Generator().manual_seed(self.number(salt))

    def number(self, salt: str = "") -> int:
        """An integer below 2**31 that follows from seed, scenario and salt."""
        return (zlib.crc32(f"{self.scenario}/{salt}".encode()) ^ (self.seed * 0x9E3779B1)) & 0x7FFFFFFF

    def set_random_state(self, salt: str) -> None:
        """Let torch's random numbers follow from this salt, on the CPU and on every GPU in use.

        (A function that takes a seed would be an answer to `seed_everything`, in the process of the submission.)
        """
        seed = self.number(salt)
        if _gpus_in_use(self.device):
            torch.manual_seed(seed)
        else:  # without its stack trace for each kind of device that is not there: a tenth of a short play's time
            torch.default_generator.manual_seed(seed)


@dataclass(frozen=True)
class Problem:
    """The pieces of a scenario that a recipe needs: whose gradients may have gone into an update."""

    model: nn.Module
    batches: Sequence[tuple[Tensor, Tensor]]
    loss_fn: Callable[[Tensor, Tensor], Tensor]


@dataclass(frozen=True)
class Stage:
    """What a scenario's function gets."""

    program: Program
    recorder: Recorder
    env: Env

    def student(self, name: str) -> Callable[..., Any]:
        """The program's function (or class) `name`."""
        function: Callable[..., Any] = self.program.names[name]
        return function


Play = Callable[[Stage], None]
"""Builds a situation, calls the student's function in it and records what is compared."""


@dataclass(frozen=True)
class Scenario:
    """One situation in which the student's function is watched."""

    name: str
    title: str
    """Korean noun phrase, as it stands in feedback: `SGD`, `드롭아웃이 있는 모델`."""
    play: Play
    check: str
    """Id of the check in the exercise's TOML file that this scenario decides."""
    atol: float = 1e-9
    """Absolute tolerance of every compared array; its reason stands beside each scenario that changes it."""
    problem: Callable[[Env], Problem] | None = None
    """Set where updates are plain SGD, so that a recipe can be recovered from them."""


class Driver:
    """How one exercise is run: its scenarios, in the order in which they are defined and played.

    A module of `grader.exercises.<lesson>` makes one, calls it `driver`, and adds to it:

        driver = Driver("train_step")

        @driver.scenario("adamw", "AdamW")
        def _adamw(stage: Stage) -> None: ...
    """

    def __init__(self, name: str, *, cost: float = 1.0) -> None:
        """`cost`: how many plays a play of it counts for where plays are limited, because its scenarios are long."""
        self.name, self.cost = name, cost
        self._scenarios: dict[str, Scenario] = {}

    @property
    def scenarios(self) -> tuple[Scenario, ...]:
        """All scenarios."""
        return tuple(self._scenarios.values())

    def __getitem__(self, name: str) -> Scenario:
        return self._scenarios[name]

    def scenario(
        self,
        name: str,
        title: str,
        *,
        check: str | None = None,
        atol: float = 1e-9,
        problem: Callable[[Env], Problem] | None = None,
    ) -> Callable[[Play], Play]:
        """Add the decorated function as a scenario.

        Args:
            name: of the scenario, once in an exercise.
            title: Korean noun phrase for feedback.
            check: id of the check it decides; its own name, where none is given.
            atol: absolute tolerance of its arrays.
            problem: where updates are plain SGD, what they were made of.

        Raises:
            ValueError: the exercise has a scenario of this name already.
        """
        if name in self._scenarios:
            raise ValueError(f"{self.name}: two scenarios are called {name!r}")

        def add(play: Play) -> Play:
            self._scenarios[name] = Scenario(name, title, play, check or name, atol, problem)
            return play

        return add


def play(
    driver: Driver,
    program: Program,
    *,
    seed: int,
    device: str = "cpu",
    only: Collection[str] | None = None,
) -> Trace:
    """Run the driver's scenarios (those in `only`, when given) with the program's functions.

    Afterwards the process's own random state, default dtype, gradient mode and autocast are as before.
    """
    started = time.perf_counter()
    trace = Trace()
    trace.load_failure = _load_failure(program, driver.name)
    loading = list(program.warnings)
    if trace.load_failure is None:
        for scenario in driver.scenarios:
            if only is None or scenario.name in only:
                trace.runs[scenario.name] = play_scenario(scenario, program, seed=seed, device=device)
    trace.warnings = list(program.warnings)
    program.warnings[:] = loading  # a driver's note is about its own exercise
    trace.seconds = time.perf_counter() - started
    return trace


def play_scenario(
    scenario: Scenario, program: Program, *, seed: int, device: str = "cpu", against: Run | None = None
) -> Run:
    """Run one scenario; with `against`, stop at the first state that differs from that run's."""
    env = Env(seed, torch.device(device), scenario.name)
    recorder = Recorder(program, against=against, atol=scenario.atol)
    with untouched_process(env.device):
        _begin_from_a_known_state(env)
        try:
            scenario.play(Stage(program, recorder, env))
        except ScenarioOver:
            pass
        except Diverged:
            recorder.run.complete = False
        except STUDENT_ERRORS as error:
            # The driver itself failed on what the function returned or left behind.
            recorder.run.failure = Failure(
                type(error).__name__,
                tuple(cls.__name__ for cls in type(error).__mro__ if cls is not object),
                f"함수가 돌려준 값이나 남긴 상태로 다음 계산을 할 수 없어요: {error}"[:500],
                call=recorder.calls,
            )
        finally:  # also where the learner's time is up
            recorder.release()
        return recorder.finish()


def _begin_from_a_known_state(env: Env) -> None:
    env.set_random_state("global")
    np.random.seed(env.number("global"))
    random.seed(env.number("global"))
    torch.set_default_dtype(torch.float32)
    torch.set_grad_enabled(True)
    for kind in _AUTOCAST:
        torch.set_autocast_enabled(kind, False)


def _load_failure(program: Program, name: str) -> Failure | None:
    if "*" in program.failures:
        return program.failures["*"]
    if name in program.names:
        return None
    return program.failures.get(name) or Failure("NameError", ("NameError",), f"`{name}` 정의가 없어요")


_CPU = torch.device("cpu")
_AUTOCAST = ("cpu", "cuda")
_SPARE: list[np.random.MT19937] = []
"""Generators for NumPy to draw from meanwhile: lending one is 300 times quicker than saving and restoring its own."""


def _gpus_in_use(device: torch.device) -> Sequence[int]:
    """All GPUs, where the play or this process uses them. To look at one's random state begins CUDA, for good."""
    if device.type == "cuda" or torch.cuda.is_initialized():
        return range(torch.cuda.device_count())
    return ()


@contextmanager
def untouched_process(device: torch.device = _CPU) -> Iterator[None]:
    """Put random states, default dtype, gradient mode and autocast back as they were, whatever is done inside.

    `device`: where it is done. Random states of GPUs are put back if that is one, or if GPUs are in use already.
    """
    python_state, numpy_generator = random.getstate(), mtrand.get_bit_generator()
    ours = _SPARE.pop() if _SPARE else np.random.MT19937(0)
    mtrand.set_bit_generator(ours)
    dtype, grad = torch.get_default_dtype(), torch.is_grad_enabled()
    autocast = {kind: torch.is_autocast_enabled(kind) for kind in _AUTOCAST}
    with torch.random.fork_rng(devices=_gpus_in_use(device)):
        try:
            yield
        finally:
            random.setstate(python_state)
            mtrand.set_bit_generator(numpy_generator)
            _SPARE.append(ours)
            torch.set_default_dtype(dtype)
            torch.set_grad_enabled(grad)
            for kind, was_on in autocast.items():
                torch.set_autocast_enabled(kind, was_on)
