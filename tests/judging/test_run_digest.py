"""Programs that behave alike have one digest, and their explanation is found once."""

from dataclasses import fields, replace
from typing import Any

import numpy as np
import pytest

from grader.course.reading import load_course
from grader.judging import explain as module
from grader.judging.explain import Explanation, explain
from grader.judging.judge import judge
from grader.judging.reference import Reference
from grader.judging.run_digest import behaviour_digest
from grader.observe.play import play
from grader.observe.printed import Printed
from grader.observe.program import load_program
from grader.observe.trace import Event, Failure, Parameter, Run, Trace

EXERCISE = load_course().exercise("train_step")
FORGETS = """def train_step(model, opt, loss_fn, xb, yb):
    loss = loss_fn(model(xb), yb)
    loss.backward()
    opt.step()
    return loss.item()
"""
RENAMED = FORGETS.replace("loss =", "# a comment moves every line\n    value =").replace("loss.", "value.")

EVENT = Event("forward", line=1)
FAILURE = Failure("ValueError", ("ValueError", "Exception"), "wrong", line=1)
PARAMETER = Parameter("weight", 3)
OTHER_VALUES: dict[type, dict[str, Any]] = {
    Run: {
        "arrays": {"theta": np.ones(1)},
        "evidence": {"lr": np.ones(1)},
        "facts": {"passed": True},
        "parameters": [PARAMETER],
        "events": [EVENT],
        "failure": FAILURE,
        "complete": False,
    },
    Event: {
        "kind": "step",
        "call": 1,
        "batch": 1,
        "state": 1,
        "point": 1,
        "by_hand": True,
        "gradients": "zero",
    },
    Failure: {"type": "KeyError", "bases": ("KeyError",), "message": "other", "call": 1, "own": True},
    Parameter: {"name": "bias", "size": 4},
}
"""Class -> another value for each field that must change the digest."""
LEFT_OUT: dict[type, dict[str, Any]] = {
    Run: {"printed": Printed("1", 1)},
    Event: {"line": 2},
    Failure: {"line": 2},
    Parameter: {},
}
"""Class -> another value for each field that must not change it: places in the text, and what is only shown."""


def played(text: str) -> Trace:
    return play(EXERCISE.driver, load_program(text), seed=1)


def explained(trace: Trace, its: Reference) -> Explanation:
    return explain(trace, judge(EXERCISE, trace, its.solution_run), its)


@pytest.mark.parametrize(
    ("text", "same"),
    [
        (RENAMED, True),
        (FORGETS.replace("opt.step()", "opt.step()\n    opt.step()"), False),
        (FORGETS.replace("loss.item()", "loss"), False),
        (FORGETS.replace("loss.backward()", "opt.zero_grad()\n    loss.backward()"), False),
        (FORGETS.replace("    return", "    print(loss)\n    return"), False),
        (FORGETS.replace("    return", "    raise KeyError(loss)\n    return"), False),
    ],
)
def test_the_digest_is_of_what_happened(text: str, same: bool, capsys: pytest.CaptureFixture[str]) -> None:
    assert (behaviour_digest(played(text)) == behaviour_digest(played(FORGETS))) is same


def test_an_explanation_is_found_once(monkeypatch: pytest.MonkeyPatch) -> None:
    its = Reference(EXERCISE, 1)
    first = explained(played(FORGETS), its)
    assert [mistake.variant.mistake.id for mistake in first.mistakes] == ["missing-zero-grad"]
    monkeypatch.setattr(module, "_find_explanation", lambda *_: pytest.fail("found anew"))
    assert explained(played(RENAMED), its) is first


def test_each_seed_has_its_own() -> None:
    its, other = Reference(EXERCISE, 1), Reference(EXERCISE, 2)
    trace = play(EXERCISE.driver, load_program(FORGETS), seed=2)
    assert explained(trace, other) is not explained(played(FORGETS), its)


def test_the_oldest_are_forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_MAX_REMEMBERED", 2)
    its = Reference(EXERCISE, 1)
    first = explained(played(FORGETS), its)
    for factor in (2, 3):
        explained(played(FORGETS.replace("loss.backward()", f"({factor} * loss).backward()")), its)
    assert explained(played(FORGETS), its) is not first
    assert explained(played(FORGETS), its) == first


def test_a_message_that_is_no_text_has_a_digest() -> None:
    trace = played(FORGETS.replace("    return", '    raise ValueError("\\ud83d")\n    return'))
    assert behaviour_digest(trace) != behaviour_digest(played(FORGETS))


def test_what_is_compared_and_what_is_evidence_are_told_apart() -> None:
    trace, other = played(FORGETS), played(FORGETS)
    run = other.runs["sgd"]
    run.arrays, run.evidence = run.evidence, run.arrays
    assert behaviour_digest(trace) != behaviour_digest(other)


def test_each_field_is_in_the_digest_or_left_out_on_purpose() -> None:
    """A new field that is forgotten would make programs that behave differently share an explanation."""
    wrap: dict[type, Any] = {
        Run: lambda run: run,
        Event: lambda event: Run(events=[event]),
        Failure: lambda failure: Run(failure=failure),
        Parameter: lambda parameter: Run(parameters=[parameter]),
    }
    for first in (Run(), EVENT, FAILURE, PARAMETER):
        kind = type(first)
        own = behaviour_digest(Trace(runs={"sgd": wrap[kind](first)}))
        assert {field.name for field in fields(kind)} == {*OTHER_VALUES[kind], *LEFT_OUT[kind]}, kind
        for name, value in (OTHER_VALUES[kind] | LEFT_OUT[kind]).items():
            changed: Any = replace(first, **{name: value})
            other = behaviour_digest(Trace(runs={"sgd": wrap[kind](changed)}))
            assert (other == own) is (name in LEFT_OUT[kind]), f"{kind.__name__}.{name}"
