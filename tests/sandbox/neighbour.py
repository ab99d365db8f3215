"""An honest submission in the sandbox: what its traces are must not depend on who was there before."""

from dataclasses import replace

import pytest

import grader.exercises
from grader.observe.trace import Trace
from grader.sandbox.client import Limits
from grader.sandbox.sandbox import Job, Outcome, Sandbox
from tests.places import TESTS

grader.exercises.__path__.append(str(TESTS / "drivers"))  # where the exercises `first` and `second` are
LIMITS = Limits(seconds=1.5)
SEED = 7
ONE_PROCESS = pytest.mark.xdist_group("sandbox")
"""Mark of the tests that share this folder's sandboxes: starting one takes seconds."""

RIGHT = """
def {name}(model, opt, xb):
    opt.zero_grad()
    loss = model(xb).pow(2).mean()
    loss.backward()
    opt.step()
    return loss.item()
"""
NEIGHBOUR = RIGHT.format(name="first") + RIGHT.format(name="second")


def run(sandbox: Sandbox, source: str) -> list[Outcome]:
    return sandbox.run([Job(source, ("first", "second"))], SEED)


def content(trace: Trace | None, *, lines: bool = True) -> object:
    """Everything in a trace but how long it took (and where its lines stood), arrays bit by bit."""
    assert trace is not None
    return trace.load_failure, [
        (
            name,
            sorted((key, a.dtype.str, a.shape, a.tobytes()) for key, a in run.arrays.items()),
            sorted((key, a.dtype.str, a.shape, a.tobytes()) for key, a in run.evidence.items()),
            run.facts,
            run.parameters,
            [replace(event, line=event.line if lines else None) for event in run.events],
            run.failure,
        )
        for name, run in trace.runs.items()
    ]


def compared(trace: Trace | None) -> object:
    """Return the part of a trace that marks depend on, arrays bit by bit."""
    assert trace is not None
    return trace.load_failure, [
        (
            name,
            sorted((key, a.dtype.str, a.shape, a.tobytes()) for key, a in run.arrays.items()),
            run.facts,
            run.failure,
        )
        for name, run in trace.runs.items()
    ]
