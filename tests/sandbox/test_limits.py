"""Time, output and length are limited for each exercise by itself, and a seed decides what comes out."""

import re
import time
from types import SimpleNamespace

import pytest

from grader.sandbox import sandbox as sandbox_module
from grader.sandbox.client import Child, Limits
from grader.sandbox.no_answer import ONLY_WAITED
from grader.sandbox.sandbox import NO_TIME_LEFT, Job, Sandbox
from tests.sandbox.attacks import ATTACKS
from tests.sandbox.neighbour import LIMITS, NEIGHBOUR, ONE_PROCESS, RIGHT, SEED, content, run

pytestmark = [pytest.mark.sandbox, ONE_PROCESS]


def test_processor_time_counts_like_time(sandbox: Sandbox, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sandbox, "_limits", Limits(seconds=30, cpu_seconds=0.5))
    (outcome,) = sandbox.run([Job((ATTACKS / "endless_loop.py").read_text(), ("first",))], SEED)
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
    traces = [content(sandbox.run([job], seed)[0].trace) for seed in (1, 1, 2)]
    assert traces[0] == traces[1] != traces[2]


def test_who_waits_has_until_the_clock_ends_it(sandbox: Sandbox, monkeypatch: pytest.MonkeyPatch) -> None:
    """Sleeping costs no processor time: it may take longer than that limit, and not for ever."""
    monkeypatch.setattr(sandbox, "_limits", Limits(seconds=3.0, cpu_seconds=0.5))
    before = sandbox.doubtful_outcomes
    slow = "import time\n" + NEIGHBOUR.replace("opt.step()", "opt.step(); time.sleep(0.5)")
    assert [outcome.status for outcome in run(sandbox, slow)] == ["ran", "ran"]
    assert sandbox.doubtful_outcomes == before
    endless = slow.replace("sleep(0.5)", "sleep(100)")
    outcomes = sandbox.run([Job(endless, ("first",))], SEED)
    assert [(outcome.status, outcome.detail) for outcome in outcomes] == [("timeout", ONLY_WAITED)]
    assert sandbox.doubtful_outcomes == before + 1


SPENDING = """
import time
spent = set()

def spend(name):
    end = time.process_time() + 0.7
    while name not in spent and time.process_time() < end:
        pass
    spent.add(name)

spend("load")
"""


def test_each_question_has_processor_time_of_its_own(
    sandbox: Sandbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An import and two exercises that each compute for most of the limit."""
    monkeypatch.setattr(sandbox, "_limits", Limits(seconds=60.0, cpu_seconds=1.0))
    busy = NEIGHBOUR
    for name in ("first", "second"):
        busy = busy.replace("    opt.zero_grad()\n", f"    spend('{name}')\n    opt.zero_grad( )\n", 1)
    assert [outcome.status for outcome in run(sandbox, SPENDING + busy)] == ["ran", "ran"]


def test_to_unpack_a_driver_costs_the_exercise_no_time(
    sandbox: Sandbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The driver takes most of the limit to be unpacked, and so does the exercise, and the one before it."""
    monkeypatch.setattr(sandbox, "_limits", Limits(seconds=60.0, cpu_seconds=1.0))
    busy = SPENDING
    for name in ("first", "slow_to_unpack"):
        busy += RIGHT.format(name=name).replace(
            "    opt.zero_grad()\n", f"    spend('{name}')\n    opt.zero_grad()\n"
        )
    outcomes = sandbox.run([Job(busy, ("first", "slow_to_unpack"))], SEED)
    assert [outcome.status for outcome in outcomes] == ["ran", "ran"]


def test_a_file_that_is_loaded_again_has_the_time_for_it(
    sandbox: Sandbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The first exercise ends the child, so the file is loaded again, in a child for one exercise only."""
    monkeypatch.setattr(sandbox, "_limits", Limits(seconds=60.0, cpu_seconds=2.0))
    slow = SPENDING.replace("0.7", "1.7")
    ends = NEIGHBOUR.replace("    opt.zero_grad()\n", "    import os; os._exit(1)\n    opt.zero_grad( )\n", 1)
    busy = ends.replace("    opt.zero_grad()\n", "    spend('second')\n    opt.zero_grad( )\n", 1)
    assert [outcome.status for outcome in run(sandbox, slow + busy)] == ["crashed", "ran"]


def test_a_file_has_the_time_to_be_loaded_whenever_it_takes_its_turn(
    sandbox: Sandbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Three times a file is loaded, a driver unpacked and an exercise played, though there are only two files."""
    fork_child, asked_for = Sandbox._fork_child, []

    def noting(sandbox: Sandbox, limits: Limits, requests: int) -> Child:
        asked_for.append(requests)
        return fork_child(sandbox, limits, requests)

    monkeypatch.setattr(Sandbox, "_fork_child", noting)
    other = NEIGHBOUR + "\n"
    jobs = [Job(NEIGHBOUR, ("first",)), Job(other, ("first",)), Job(NEIGHBOUR, ("second",))]
    assert [outcome.status for outcome in sandbox.run(jobs, SEED)] == ["ran"] * 3
    assert asked_for == [9]


def test_after_a_submissions_time_nothing_more_is_begun(
    sandbox: Sandbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What is being played then comes to its end; and a fork may take so long that nothing is begun at all."""
    now, play, fork_child = [0.0], Child.play, Sandbox._fork_child
    clock = SimpleNamespace(monotonic=lambda: now[0], perf_counter=time.perf_counter)

    def passes(child: Child, exercise: str, seed: int) -> bytes:
        now[0] += 2.0
        return play(child, exercise, seed)

    def is_slow(sandbox: Sandbox, limits: Limits, requests: int) -> Child:
        now[0] += 2.0
        return fork_child(sandbox, limits, requests)

    def outcomes(deadline: float) -> list[tuple[str, str]]:
        now[0] = 0.0
        jobs = [Job(NEIGHBOUR, ("first", "second"))]
        return [(one.status, one.detail) for one in sandbox.run(jobs, SEED, deadline=deadline)]

    monkeypatch.setattr(sandbox_module, "time", clock)
    monkeypatch.setattr(Child, "play", passes)
    assert outcomes(1.0) == [("ran", ""), ("timeout", NO_TIME_LEFT)]
    assert outcomes(-1.0) == [("timeout", NO_TIME_LEFT)] * 2
    monkeypatch.setattr(Sandbox, "_fork_child", is_slow)
    assert outcomes(1.0) == [("timeout", NO_TIME_LEFT)] * 2


def test_a_file_that_does_not_load_costs_its_own_exercises_only(sandbox: Sandbox) -> None:
    jobs = [Job((ATTACKS / "exits_at_import.py").read_text(), ("first",)), Job(NEIGHBOUR, ("second",))]
    assert [outcome.status for outcome in sandbox.run(jobs, SEED)] == ["crashed", "ran"]


def test_the_time_of_a_load_that_failed_is_counted_once(sandbox: Sandbox) -> None:
    outcomes = run(sandbox, (ATTACKS / "exits_at_import.py").read_text())
    assert [outcome.status for outcome in outcomes] == ["crashed"] * 2
    assert [outcome.seconds > 0 for outcome in outcomes] == [True, False]


LEAVES_AN_END = """
import builtins, os, threading, time

def end():
    while not hasattr(builtins, "next_file_is_loading"):
        time.sleep(0.01)
    os._exit(3)

def first(model, opt, xb):
    threading.Thread(target=end, daemon=True).start()
    return 0.0
"""
TAKES_A_WHILE_TO_LOAD = """
import builtins, time
builtins.next_file_is_loading = True
time.sleep(0.3)
"""


def test_what_a_file_leaves_does_not_cost_the_next_file_its_exercises(sandbox: Sandbox) -> None:
    """A thread of the first file ends the child while the second one is being loaded."""
    jobs = [Job(LEAVES_AN_END, ("first",)), Job(TAKES_A_WHILE_TO_LOAD + NEIGHBOUR, ("first", "second"))]
    assert [outcome.status for outcome in sandbox.run(jobs, SEED)] == ["ran"] * 3


def test_a_later_file_that_never_loads_ends_each_of_its_exercises(sandbox: Sandbox) -> None:
    """It is loaded once more, as the first file of a child."""
    jobs = [
        Job(NEIGHBOUR, ("first",)),
        Job((ATTACKS / "exits_at_import.py").read_text(), ("first", "second")),
        Job(NEIGHBOUR, ("second",)),
    ]
    statuses = [outcome.status for outcome in sandbox.run(jobs, SEED)]
    assert statuses == ["ran", "crashed", "crashed", "ran"]


def test_a_file_that_ends_its_process_is_loaded_again_for_the_rest(sandbox: Sandbox) -> None:
    """Files in turn: what stands in two of them is played in the course's order."""
    ends = (ATTACKS / "exits.py").read_text() + RIGHT.format(name="second")
    jobs = [Job(ends, ("first",)), Job(NEIGHBOUR, ("first",)), Job(ends, ("second",))]
    assert [outcome.status for outcome in sandbox.run(jobs, SEED)] == ["crashed", "ran", "ran"]
