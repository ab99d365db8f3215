"""Time, output and length are limited for each exercise by itself, and a seed decides what comes out."""

import re

import pytest

from grader.sandbox.client import Limits
from grader.sandbox.sandbox import Job, Sandbox
from tests.sandbox.attacks import ATTACKS
from tests.sandbox.neighbour import LIMITS, NEIGHBOUR, ONE_PROCESS, SEED, content, run

pytestmark = [pytest.mark.sandbox, ONE_PROCESS]


def test_processor_time_counts_like_time(sandbox: Sandbox, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sandbox, "_limits", Limits(seconds=30, cpu_seconds=0.5))
    (outcome,) = sandbox.run(Job((ATTACKS / "endless_loop.py").read_text(), ("first",)), SEED)
    assert outcome.status == "timeout"
    assert outcome.seconds < 20


def test_output_is_counted_for_each_exercise(sandbox: Sandbox) -> None:
    """Two exercises that print 60 % of the limit each are both within it."""
    printed = LIMITS.output_bytes * 6 // 10
    source = re.sub(r"\n    return", f"\n    print('x' * {printed})\n    return", NEIGHBOUR)
    assert [outcome.status for outcome in run(sandbox, source)] == ["ran", "ran"]


def test_a_long_submission_arrives_whole(sandbox: Sandbox, undisturbed: list[object]) -> None:
    source = "# 한글 주석\n" * 100_000
    outcomes = run(sandbox, NEIGHBOUR.strip() + "\n" + source)
    assert [outcome.status for outcome in outcomes] == ["ran", "ran"]


def test_same_seed_same_trace_other_seed_other_trace(sandbox: Sandbox) -> None:
    job = Job(NEIGHBOUR, ("first",))
    traces = [content(sandbox.run(job, seed)[0].trace) for seed in (1, 1, 2)]
    assert traces[0] == traces[1] != traces[2]
