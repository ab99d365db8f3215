"""Variants of a program played in the sandbox: one child for many, a new one after each that ends it, none believed."""

import os
import signal
import socket
import time
from collections.abc import Iterator
from contextlib import suppress
from itertools import repeat
from typing import Any

import pytest

from grader.observe.trace import Run, Trace
from grader.sandbox.attempts import AttemptLimits
from grader.sandbox.attempts_spent import AttemptsSpent
from grader.sandbox.client import Child
from grader.sandbox.sandbox import Sandbox
from grader.sandbox.server_process import SandboxUnavailable, ServerProcess
from tests.sandbox.attacks import ATTACKS, attack
from tests.sandbox.neighbour import NEIGHBOUR, ONE_PROCESS, SEED, content, run
from tests.sandbox.processes import descendants

QUICK = AttemptLimits(cpu_seconds=0.3, seconds=1.5)


@pytest.fixture(params=[pytest.param("sandbox", marks=[pytest.mark.sandbox, ONE_PROCESS]), "unisolated"])
def anywhere(request: pytest.FixtureRequest) -> Sandbox:
    """In bubblewrap, and without."""
    sandbox: Sandbox = request.getfixturevalue(request.param)
    return sandbox


def told(run: Run | None) -> object:
    assert run is not None
    return content(Trace({"sgd": run}))


def test_plays_as_a_submission_is_played(anywhere: Sandbox) -> None:
    """The same trace, and many from one child."""
    expected = [content(outcome.trace) for outcome in run(anywhere, NEIGHBOUR)]
    children = set()
    with anywhere.attempts(SEED) as attempts:
        for number in range(5):
            text = NEIGHBOUR + "\n" * number
            assert [told(attempts.run(name, text, "sgd")) for name in ("first", "second")] == expected
            children.add(attempts._child)
        assert len(children) == 1
    assert [content(outcome.trace) for outcome in run(anywhere, NEIGHBOUR)] == expected


def test_each_text_is_a_program_of_its_own(anywhere: Sandbox) -> None:
    """Nothing that one attempt defines is there for the next."""
    uses_helper = NEIGHBOUR.replace("model(xb)", "helper(model, xb)")
    with anywhere.attempts(SEED) as attempts:
        runner = attempts.for_exercise("first")
        wrong = runner.run(uses_helper, "sgd")
        assert wrong is not None
        assert wrong.failure is not None
        right = runner.run("def helper(model, xb):\n    return model(xb)\n" + uses_helper, "sgd")
        assert right is not None
        assert right.failure is None
        assert told(runner.run(uses_helper, "sgd")) == told(wrong)
        assert runner.run("def first(", "sgd") is None
        assert runner.run("x = 1", "sgd") is None


@pytest.mark.parametrize(
    "name",
    [
        "endless_loop",
        "endless_loop_catching",
        "endless_import",
        "endless_output",
        "exits",
        "exits_at_import",
        "segfaults",
        "forges_frames",
        "forges_giant_frame",
        "forges_bad_json",
        "takes_memory_torch",
        "interrupts",
    ],
)
def test_an_attempt_that_misbehaves_is_given_up(anywhere: Sandbox, name: str) -> None:
    """And the next one is played as if nothing had been."""
    assert (ATTACKS / f"{name}.py").is_file()
    with anywhere.attempts(SEED, QUICK) as attempts:
        expected = told(attempts.run("second", NEIGHBOUR, "sgd"))
        started = time.monotonic()
        wrong = attempts.run("first", attack(name, PORT="1", CANARY="/nowhere"), "sgd")
        assert wrong is None or wrong.failure is not None
        assert time.monotonic() - started < 20
        assert told(attempts.run("second", NEIGHBOUR, "sgd")) == expected


def test_processor_time_ends_an_attempt_before_the_clock_does(anywhere: Sandbox) -> None:
    """What is repaired must not depend on how busy the machine is."""
    with anywhere.attempts(SEED, AttemptLimits(cpu_seconds=0.3, seconds=60)) as attempts:
        started = time.monotonic()
        assert attempts.run("first", attack("endless_loop"), "sgd") is None
        assert time.monotonic() - started < 30


def test_gives_up_after_too_many_ends(anywhere: Sandbox) -> None:
    """Each costs a fork, and a time limit at worst; the next exercise may have as many."""
    with anywhere.attempts(SEED, AttemptLimits(max_ended_children=2)) as attempts:
        for _ in range(2):
            runner = attempts.for_exercise("first")
            for _ in range(2):
                assert runner.run(attack("exits"), "sgd") is None
            with pytest.raises(AttemptsSpent):
                runner.run(NEIGHBOUR, "sgd")
            assert attempts._child is None


def plays_until_spent(sandbox: Sandbox, line: str, limits: AttemptLimits) -> int:
    """Number of variants of two exercises that are played, where each runs `line` when it is loaded."""
    plays = 0
    with sandbox.attempts(SEED, limits) as attempts:
        for name in ("first", "second"):
            runner = attempts.for_exercise(name)
            with suppress(AttemptsSpent):
                for _ in range(100):
                    runner.run(f"import time\n{line}\n{NEIGHBOUR}" + "\n" * plays, "sgd")
                    plays += 1
    return plays


def test_all_variants_of_a_submission_share_processor_time(anywhere: Sandbox) -> None:
    """Each loads the whole program, so one that computes while it is loaded would cost its time over and over."""
    burns = "begun = time.process_time()\nwhile time.process_time() < begun + 0.25:\n    pass"
    limits = AttemptLimits(cpu_seconds=1, total_cpu_seconds=2, seconds=60, total_seconds=600)
    assert 4 <= plays_until_spent(anywhere, burns, limits) <= 14


def test_all_variants_of_a_submission_share_the_clock(anywhere: Sandbox) -> None:
    """For those that sleep, which takes no processor time."""
    limits = AttemptLimits(total_seconds=0.6)
    assert 1 <= plays_until_spent(anywhere, "time.sleep(0.2)", limits) <= 3


def test_quick_variants_do_not_run_out(anywhere: Sandbox) -> None:
    assert plays_until_spent(anywhere, "", AttemptLimits(total_cpu_seconds=20)) == 200


def test_a_server_that_was_killed_while_it_starts_is_replaced(
    anywhere: Sandbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One that dies again and again is told: without isolation nothing is graded."""
    anywhere.close()
    begun, deaths = anywhere._start_server, iter((True, False))

    def dies(killed: Iterator[bool]) -> ServerProcess:
        server = begun()
        if next(killed):
            server._process.kill()
            server.control.shutdown(
                socket.SHUT_RDWR
            )  # bubblewrap may be killed before what it starts goes with it
        return server

    monkeypatch.setattr(anywhere, "_start_server", lambda: dies(deaths))
    with anywhere.attempts(SEED) as attempts:
        assert attempts.run("first", NEIGHBOUR, "sgd") is not None
    assert next(deaths, None) is None
    anywhere.close()
    monkeypatch.setattr(anywhere, "_start_server", lambda: dies(repeat(True)))
    with anywhere.attempts(SEED) as attempts, pytest.raises(SandboxUnavailable):
        attempts.run("first", NEIGHBOUR, "sgd")
    monkeypatch.undo()


def test_an_attempt_that_something_else_kills_is_played_again(
    anywhere: Sandbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As the kernel does when the machine's memory runs short. It counts as one of the ends, so it has an end."""
    play, kills = Child.play_attempt, iter([True])

    def is_killed(child: Child, *place: Any, cpu_seconds: float) -> bytes:
        if next(kills, False):
            assert anywhere._server is not None
            os.kill(descendants(anywhere._server._process.pid)[-1], signal.SIGKILL)
        return play(child, *place, cpu_seconds=cpu_seconds)

    with anywhere.attempts(SEED) as attempts:
        expected = told(attempts.run("first", NEIGHBOUR, "sgd"))
        monkeypatch.setattr(Child, "play_attempt", is_killed)
        assert told(attempts.run("first", NEIGHBOUR + "\n", "sgd")) == expected
        assert attempts._ended_children == 1


def test_a_server_that_was_killed_is_replaced(anywhere: Sandbox) -> None:
    """As for a submission."""
    with anywhere.attempts(SEED) as attempts:
        expected = told(attempts.run("first", NEIGHBOUR, "sgd"))
        assert anywhere._server is not None
        anywhere._server._process.kill()
        attempts.run("first", NEIGHBOUR + "\n", "sgd")
        attempts._close_child()
        assert told(attempts.run("first", NEIGHBOUR, "sgd")) == expected
