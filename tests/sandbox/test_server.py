"""The process that forks: its end costs one job at most, and nothing of it is left behind."""

import os
import signal
import threading
import time
from pathlib import Path

import pytest

from grader.sandbox import bubblewrap
from grader.sandbox.client import SandboxUnavailable
from grader.sandbox.sandbox import Sandbox
from tests.sandbox.attacks import attack
from tests.sandbox.neighbour import LIMITS, NEIGHBOUR, ONE_PROCESS, content, run

pytestmark = [pytest.mark.sandbox, ONE_PROCESS]


def test_its_death_costs_one_job(sandbox: Sandbox, undisturbed: list[object]) -> None:
    run(sandbox, NEIGHBOUR)
    assert sandbox._server is not None
    victims = descendants(sandbox._server._process.pid)

    def kill() -> None:
        for pid in victims:
            os.kill(pid, signal.SIGKILL)

    timer = threading.Timer(0.5, kill)
    timer.start()
    outcomes = run(sandbox, attack("endless_loop"))
    timer.join()
    assert outcomes[0].status == "crashed"
    assert [content(outcome.trace) for outcome in run(sandbox, NEIGHBOUR)] == undisturbed


@pytest.mark.full
def test_its_death_between_two_jobs_costs_nothing(sandbox: Sandbox, undisturbed: list[object]) -> None:
    run(sandbox, NEIGHBOUR)
    assert sandbox._server is not None
    for pid in descendants(sandbox._server._process.pid):
        os.kill(pid, signal.SIGKILL)
    sandbox._server._process.wait()
    assert [content(outcome.trace) for outcome in run(sandbox, NEIGHBOUR)] == undisturbed


def test_a_child_that_cannot_be_isolated_is_nobodys_crash(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody's points are lost for it; and nothing is left of a sandbox that is closed."""
    monkeypatch.setattr(bubblewrap, "below_tmp", lambda: ("/tmp/not-there",))
    with Sandbox("bwrap", limits=LIMITS, lessons=["probe"]) as sandbox:
        with pytest.raises(SandboxUnavailable, match=r"격리해서 실행하지 못했어요.*\n.*not-there"):
            run(sandbox, NEIGHBOUR)
        assert sandbox._server is not None
        family = descendants(sandbox._server._process.pid)
        assert family
    deadline = time.monotonic() + 5
    while any(alive(pid) for pid in family) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert not any(alive(pid) for pid in family)


def descendants(pid: int) -> list[int]:
    """Process ids below `pid`."""
    try:
        children = [int(word) for word in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]
    except FileNotFoundError:
        return []
    return [found for child in children for found in (child, *descendants(child))]


def alive(pid: int) -> bool:
    """Whether it runs; what is dead and only waits to be noticed does not."""
    try:
        return "State:\tZ" not in Path(f"/proc/{pid}/status").read_text()
    except OSError:
        return False
