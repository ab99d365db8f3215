"""Traces that no recorder wrote are refused, and before they have cost anything."""

from dataclasses import fields, replace
from typing import Any, get_type_hints

import numpy as np
import pytest

from grader.judging.first_difference import fact_text
from grader.observe import trace as traces
from grader.observe.program import describe_failure, load_program
from grader.observe.trace import Event, Failure, Run, Trace, TraceError, from_bytes, to_bytes
from grader.sandbox.trace_bounds import refuse_implausible

LONG = "x" * 600


def test_text_beyond_all_bounds_is_not_even_parsed(monkeypatch: pytest.MonkeyPatch) -> None:
    """A header of 14 MB was read into objects before anyone looked at its size."""
    blob = to_bytes(Trace(runs={"sgd": Run(facts={"passed": "x" * traces.MAX_TEXT_BYTES})}))
    monkeypatch.setattr(traces.json, "loads", lambda _: pytest.fail("it was parsed"))
    with pytest.raises(TraceError, match="bytes of text"):
        from_bytes(blob)


@pytest.mark.parametrize(
    "run",
    [Run(facts={LONG: 1}), Run(arrays={LONG: np.zeros(1)}), Run(evidence={LONG: np.zeros(1)})],
    ids=["fact", "array", "evidence"],
)
def test_names_are_names(run: Run) -> None:
    blob = to_bytes(Trace(runs={"sgd": run}))
    with pytest.raises(TraceError, match="a name"):
        refuse_implausible(from_bytes(blob))


def test_a_forged_fact_does_not_fill_the_report() -> None:
    """One of 8 MB stood in results.json."""
    for fact in ("x" * 10**6, ["x" * 10**6, "y"], [["x"] * 10**5]):
        assert len(fact_text(fact)) < 400


@pytest.mark.parametrize("thing", [Event("forward"), Failure("E", ("E",), "wrong")])
def test_each_number_has_a_bound(thing: Any) -> None:
    """A number without one could make judging loop a billion times."""
    hints = get_type_hints(type(thing))
    numbers = [field.name for field in fields(thing) if hints[field.name] in (int, int | None)]
    assert {"line", "call"} <= {*numbers}
    for name in numbers:
        forged = replace(thing, **{name: 10**9})
        _expect_refused(forged)


@pytest.mark.parametrize("thing", [Event("forward"), Failure("E", ("E",), "wrong")])
def test_each_text_has_a_bound(thing: Any) -> None:
    """One without a bound could fill a report."""
    hints = get_type_hints(type(thing))
    long = "x" * 10**6
    forged = {str: long, str | None: long, tuple[str, ...]: (long,)}
    texts = {field.name: forged[hints[field.name]] for field in fields(thing) if hints[field.name] in forged}
    assert {*texts} in ({"kind"}, {"type", "bases", "message"})
    for name, text in texts.items():
        _expect_refused(replace(thing, **{name: text}))


def _expect_refused(forged: Event | Failure) -> None:
    """Expect that a trace with this event or failure is refused."""
    run = Run(events=[forged]) if isinstance(forged, Event) else Run(failure=forged)
    with pytest.raises(TraceError, match="out of range"):
        refuse_implausible(Trace(runs={"sgd": run}))


@pytest.mark.parametrize(
    "source",
    [
        f"class {'E' * 201}(Exception): pass\ndef f(): raise {'E' * 201}('x' * 3000)",
        f"class Long:\n    def __repr__(self): return 'x' * 3000\n    {'y' * 300} = 1\n"
        f"def f(): raise AttributeError(repr(Long()), name={'y' * 299!r}, obj=Long())",
        f"import {'a' * 2000}, {'b' * 2000}\ndef f(): raise ValueError",
    ],
    ids=["class name", "suggestion", "import"],
)
def test_what_an_honest_program_can_write_is_accepted(source: str) -> None:
    """However long its texts are: the recorder cuts them to the bounds."""
    program = load_program(source, name="long")
    try:
        program.names["f"]()
    except Exception as error:
        failure = describe_failure(error, program)
    program.unload()
    refuse_implausible(Trace({"sgd": Run(failure=failure)}, warnings=program.warnings))
