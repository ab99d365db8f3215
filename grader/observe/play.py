"""Define drivers and scenarios, and play an exercise's scenarios with one program, which gives a trace.

The solution, every known mistake and every submission are played by this same code. That makes their traces comparable.
Submissions are played by `sandbox/inside/child.py`, a notebook's functions by `grading/in_process.py`, the solution and
the mistakes by `judging/reference.py`. Traces are compared in `judging/`, not here. Scenarios are written in
`exercises/`; a setting that every scenario has is a field of `Scenario`.
"""

import random
import warnings
import zlib
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from time import perf_counter  # the function itself: a submission may replace `time.perf_counter`
from typing import Any

import numpy as np
import torch
from numpy.random import mtrand
from torch import Tensor, nn

from grader.observe.printed import copied_output
from grader.observe.program import STUDENT_ERRORS, Program, describe_failure
from grader.observe.recorder import Diverged, Recorder, ScenarioOver
from grader.observe.trace import Failure, Run, Trace
from grader.observe.wording import AFTER_THE_CALL

_CPU = torch.device("cpu")
_AUTOCAST = ("cpu", "cuda")
"""Types of devices whose autocast is switched off before a play, and restored after it."""
_SPARE_GENERATORS: list[np.random.MT19937] = []
"""Spare generators to lend to NumPy during a play: 300 times faster than saving and restoring its own state."""
_MAX_LATER_MESSAGE_CHARS = 500
"""Maximum characters of the message of an exception that a driver met after the learner's function had ended."""


class TimeLimit(BaseException):
    """The learner's code ran longer than allowed. Not an `Exception`: `except Exception` must not swallow it."""


@dataclass(frozen=True)
class Env:
    """What a scenario is built from; everything random in it follows from the seed and the scenario's name."""

    seed: int
    device: torch.device
    scenario: str
    """Name of the scenario."""

    def generator(self, salt: str = "") -> torch.Generator:
        """Return a new CPU generator whose numbers depend on seed, scenario and salt."""
        return torch.Generator().manual_seed(self.number(salt))

    def number(self, salt: str = "") -> int:
        """Return an integer in [0, 2**31) that depends on seed, scenario and salt."""
        # The factor is a prime near 2**32 / 1.618 (Knuth), so that seeds that follow each other differ in many bits.
        return (zlib.crc32(f"{self.scenario}/{salt}".encode()) ^ (self.seed * 0x9E3779B1)) & 0x7FFFFFFF

    def draw(self, salt: str) -> "Draw":
        """Return a new source of numbers within limits, which depend on seed, scenario and salt."""
        return Draw(self.generator(salt))

    def set_random_state(self, salt: str) -> None:
        """Seed torch's random numbers from this salt, on the CPU and on every GPU in use.

        It takes no seed, because a function that seeds torch from a seed would be an answer to the exercise
        `seed_everything`, in the memory of the submission's process.
        """
        seed = self.number(salt)
        if _gpus_in_use(self.device):
            torch.manual_seed(seed)
        else:  # `manual_seed` takes a stack trace for each absent kind of device: a tenth of a short play's time
            torch.default_generator.manual_seed(seed)


class Draw:
    """A source of random numbers within limits; each call gives the next one."""

    def __init__(self, generator: torch.Generator) -> None:
        self._generator = generator

    def whole(self, low: int, high: int) -> int:
        """Return a whole number from `low` to `high`, both included."""
        return int(torch.randint(low, high + 1, (), generator=self._generator))

    def real(self, low: float, high: float) -> float:
        """Return a fraction between `low` and `high`."""
        return low + (high - low) * float(torch.rand((), generator=self._generator, dtype=torch.float64))


@dataclass(frozen=True)
class Problem:
    """The parts of a scenario that are needed to find its recipe: the mix of batch gradients in each update."""

    model: nn.Module
    batches: Sequence[tuple[Tensor, Tensor]]
    """The (inputs, targets) whose gradients may have gone into an update."""
    loss_fn: Callable[[Tensor, Tensor], Tensor]
    """(outputs, targets) -> loss."""


@dataclass(frozen=True)
class Stage:
    """The argument of a scenario's function: the program to play, the recorder and the scenario's randomness."""

    program: Program
    recorder: Recorder
    env: Env

    def student(self, name: str) -> Callable[..., Any]:
        """Return the program's function or class called `name`.

        A driver's local `student` is such a function. Everywhere else, the person who wrote it is the *learner*.
        """
        function: Callable[..., Any] = self.program.names[name]
        return function


Play = Callable[[Stage], None]
"""A scenario's function: builds a situation, calls the learner's function in it and records what is compared."""


@dataclass(frozen=True)
class Scenario:
    """One situation in which the learner's function is played."""

    name: str
    title: str
    """Korean noun phrase, as it stands in feedback: `SGD`, `드롭아웃이 있는 모델`."""
    play: Play
    check: str
    """Id of the check in the exercise's TOML file that this scenario decides."""
    atol: float = 1e-9
    """Absolute tolerance for every compared array. A scenario that changes it gives its reason in a comment."""
    problem: Callable[[Env], Problem] | None = None
    """Set if updates are plain SGD, so that the recipe can be recovered from them; else None."""
    watches_memory: bool = False
    """True if only the memory that the function holds is compared, and not its updates."""


class Driver:
    """The scenarios of one exercise, in the order in which they are defined and played.

    Each exercise's module in `grader.exercises.<lesson>` creates one named `driver` and adds scenarios to it:

        driver = Driver("train_step")

        @driver.scenario("adamw", "AdamW")
        def _adamw(stage: Stage) -> None: ...
    """

    def __init__(self, name: str, *, cost: float = 1.0, lends: Collection[str] = ()) -> None:
        """Create a driver without scenarios.

        Args:
            name: name of the exercise.
            cost: how much one play counts where the number of plays is limited; above 1 for long scenarios.
            lends: names that the scenarios lend to a program that does not define them.
        """
        self.name, self.cost, self.lends = name, cost, lends
        self._scenarios: dict[str, Scenario] = {}

    @property
    def scenarios(self) -> tuple[Scenario, ...]:
        """All scenarios, in order."""
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
        watches_memory: bool = False,
    ) -> Callable[[Play], Play]:
        """Return a decorator that adds a function as a scenario.

        Args:
            name: name of the scenario, unique within the exercise.
            title: Korean noun phrase for feedback.
            check: id of the check that it decides; None: the scenario's name.
            atol: absolute tolerance for its arrays.
            problem: if updates are plain SGD, function that returns what they were made of.
            watches_memory: True if only memory is compared: the search for a repair does not count it among the
                scenarios that make plays slow.

        Raises:
            ValueError: the exercise already has a scenario of this name.
        """
        if name in self._scenarios:
            raise ValueError(f"{self.name}: two scenarios are called {name!r}")

        def add(play: Play) -> Play:
            self._scenarios[name] = Scenario(name, title, play, check or name, atol, problem, watches_memory)
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
    """Play the driver's scenarios with a program and return the trace.

    Afterwards the process's own random state, default dtype, gradient mode and autocast are as before.

    Args:
        driver: the exercise's driver.
        program: the loaded program.
        seed: seed of all scenarios.
        device: torch device on which they are played.
        only: names of the scenarios to play; None: all.
    """
    started = perf_counter()
    trace = Trace()
    trace.load_failure = _load_failure(program, driver.name)
    warnings_of_loading, cuda_of_loading = list(program.warnings), replace(program.cuda)
    if trace.load_failure is None:
        for scenario in driver.scenarios:
            if only is None or scenario.name in only:
                with copied_output() as output:
                    run = play_scenario(scenario, program, seed=seed, device=device)
                run.printed = output.printed()
                trace.runs[scenario.name] = run
    trace.warnings = [*program.warnings, *([program.cuda.note] if program.cuda.note else [])]
    # Forget what was added during this exercise: it concerns no other.
    program.warnings[:], program.cuda = warnings_of_loading, cuda_of_loading
    trace.seconds = perf_counter() - started
    return trace


def play_scenario(
    scenario: Scenario, program: Program, *, seed: int, device: str = "cpu", against: Run | None = None
) -> Run:
    """Play one scenario and return its run. Play it twice if the program asks for a GPU that is absent.

    Args:
        scenario: the scenario.
        program: the loaded program.
        seed: seed of the scenario.
        device: torch device on which it is played.
        against: stop at the first state that differs from this run's, with `complete` False; None: play to the end.
    """
    env = Env(seed, torch.device(device), scenario.name)
    recorder = Recorder(program, against=against, atol=scenario.atol)
    run = _play_once(scenario, env, recorder)
    if recorder.lacked_gpu:
        run = _play_once(scenario, env, Recorder(program, against=against, atol=scenario.atol))
    return run


@contextmanager
def restored_process_state(device: torch.device = _CPU) -> Iterator[None]:
    """Restore random states, default dtype, gradient mode and autocast at the end, whatever is done inside.

    Args:
        device: device on which the work inside is done. Random states of GPUs are restored if this is one, or if
            this process uses CUDA already.
    """
    python_state, numpy_generator = random.getstate(), mtrand.get_bit_generator()
    lent_generator = _SPARE_GENERATORS.pop() if _SPARE_GENERATORS else np.random.MT19937(0)
    mtrand.set_bit_generator(lent_generator)
    dtype, grad = torch.get_default_dtype(), torch.is_grad_enabled()
    autocast = {kind: torch.is_autocast_enabled(kind) for kind in _AUTOCAST}
    with torch.random.fork_rng(devices=_gpus_in_use(device)):
        try:
            yield
        finally:
            random.setstate(python_state)
            mtrand.set_bit_generator(numpy_generator)
            _SPARE_GENERATORS.append(lent_generator)
            torch.set_default_dtype(dtype)
            torch.set_grad_enabled(grad)
            for kind, was_on in autocast.items():
                torch.set_autocast_enabled(kind, was_on)


def _play_once(scenario: Scenario, env: Env, recorder: Recorder) -> Run:
    """Play one scenario with the recorder's program, and return what was recorded."""
    with restored_process_state(env.device), warnings.catch_warnings():
        # Warnings of the learner's function are recorded where it is called; those of drivers would speak of our files.
        warnings.simplefilter("ignore")
        _reset_process_state(env)
        try:
            scenario.play(Stage(recorder.program, recorder, env))
        except ScenarioOver:
            pass
        except Diverged:
            recorder.run.complete = False
        except STUDENT_ERRORS as error:
            # Not raised inside the learner's function: the driver failed on what that returned or left behind.
            described = describe_failure(error, recorder.program)
            recorder.run.failure = Failure(
                described.type,
                described.bases,
                f"{AFTER_THE_CALL} 다음 계산을 할 수 없어요: {described.message}"[:_MAX_LATER_MESSAGE_CHARS],
                call=recorder.call_count,
            )
        finally:  # also on `TimeLimit`
            recorder.release()
        return recorder.finish()


def _reset_process_state(env: Env) -> None:
    """Seed all random numbers for a scenario, and set dtype, gradient mode and autocast to their defaults."""
    env.set_random_state("global")
    np.random.seed(env.number("global"))
    random.seed(env.number("global"))
    torch.set_default_dtype(torch.float32)
    torch.set_grad_enabled(True)
    for kind in _AUTOCAST:
        torch.set_autocast_enabled(kind, False)


def _load_failure(program: Program, name: str) -> Failure | None:
    """Return why the program has no usable function `name`; None if it has one."""
    if "*" in program.failures:
        return program.failures["*"]
    if name in program.names:
        return None
    return program.failures.get(name) or Failure("NameError", ("NameError",), f"`{name}` 정의가 없어요")


def _gpus_in_use(device: torch.device) -> Sequence[int]:
    """Return the indices of all GPUs if the play or this process uses CUDA, else none.

    Reading a GPU's random state would initialize CUDA, which cannot be undone.
    """
    if device.type == "cuda" or torch.cuda.is_initialized():
        return range(torch.cuda.device_count())
    return ()
