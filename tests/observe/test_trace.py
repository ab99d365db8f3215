"""Traces cross the sandbox border as they are, and nothing else does."""

import contextlib
from dataclasses import fields

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from grader.observe.printed import Printed
from grader.observe.trace import Event, Failure, Parameter, Run, Trace, TraceError, from_bytes, to_bytes
from tests.observe.five_lines import RIGHT, traced


def test_a_trace_survives_the_border() -> None:
    """Arrays, facts, events and failures come back as they went."""
    run = Run(
        arrays={"theta": np.arange(6.0).reshape(2, 3), "none": np.zeros((0,))},
        facts={"모드": [[True, False]], "이름": "값", "없음": None},
        evidence={"lr": np.full((2, 3), 0.1)},
        parameters=[Parameter("layers.0.weight", 3)],
        events=[
            Event("forward", 2, 1, batch=0, state=2, point=1),
            Event("backward", 3, 1, state=2, by_hand=True),
            Event("step", 4, 1, None, 2, gradients="set"),
        ],
        failure=Failure("ValueError", ("ValueError", "Exception"), "메시지", 3, 1),
    )
    trace = Trace({"sgd": run}, 0.5, Failure("NameError", ("NameError",), "x"), ["경고"])
    back = from_bytes(to_bytes(trace))
    assert (back.seconds, back.load_failure, back.warnings) == (0.5, trace.load_failure, ["경고"])
    other = back.runs["sgd"]
    assert (other.facts, other.parameters, other.events, other.failure) == (
        run.facts,
        run.parameters,
        run.events,
        run.failure,
    )
    assert all(np.array_equal(other.arrays[k], v) for k, v in run.arrays.items())


@given(st.binary(max_size=300), st.integers(0, 400), st.binary(min_size=1, max_size=8))
def test_whatever_comes_over_the_border_is_a_trace_or_a_trace_error(
    junk: bytes, at: int, patch: bytes
) -> None:
    """A forged or damaged blob must not raise anything else in the grading process."""
    good = to_bytes(traced(RIGHT))
    for blob in (junk, good[:at] + patch + good[at + len(patch) :], good[:at], b"\xff" * 8 + junk):
        with contextlib.suppress(TraceError):
            assert isinstance(from_bytes(blob), Trace)


def test_a_deeply_nested_header_is_refused() -> None:
    """JSON nested 100,000 deep must not overflow the grader's stack."""
    header = b'{"__metadata__":' + b"[" * 100_000 + b"]" * 100_000 + b"}"
    with pytest.raises(TraceError):
        from_bytes(len(header).to_bytes(8, "little") + header)


def test_each_field_of_a_run_survives_the_border() -> None:
    """A new field that is not serialized would be empty for every submission, and the judge would not notice."""
    run = Run(
        arrays={"theta": np.ones((1, 2))},
        facts={"passed": True},
        evidence={"lr": np.zeros((1, 2))},
        parameters=[Parameter("weight", 2)],
        events=[Event("step", 1, 1, 1, 1, 1, True, "zero")],
        failure=Failure("KeyError", ("KeyError",), "wrong", 1, 1, True),
        printed=Printed("1", 1),
    )
    back = from_bytes(to_bytes(Trace(runs={"sgd": run}))).runs["sgd"]
    empty = Run()
    for name in (field.name for field in fields(Run)):
        if name == "complete":  # a submission's run always is
            continue
        assert str(getattr(run, name)) != str(getattr(empty, name)), f"give {name} a value of its own"
        assert str(getattr(back, name)) == str(getattr(run, name)), name
