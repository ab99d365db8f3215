"""The process that forks: its end costs nobody anything, and nothing of it is left behind."""

import os
import signal
import subprocess
import sys
import threading
import time

import pytest

from grader.sandbox import bubblewrap, server_process
from grader.sandbox import sandbox as sandbox_module
from grader.sandbox.client import Child
from grader.sandbox.inside.protocol import Header
from grader.sandbox.no_answer import CUT_OFF, ONLY_WAITED, CutOff, NoAnswer, ServerGone
from grader.sandbox.sandbox import Job, Sandbox
from grader.sandbox.server_process import SandboxUnavailable, ServerProcess
from tests.places import ROOT
from tests.sandbox.attacks import attack
from tests.sandbox.neighbour import LIMITS, NEIGHBOUR, ONE_PROCESS, SEED, content, run
from tests.sandbox.processes import alive, descendants, left_of

pytestmark = [pytest.mark.sandbox, ONE_PROCESS]


def test_its_death_costs_nobody_anything(sandbox: Sandbox, undisturbed: list[object]) -> None:
    """Nothing that a submission does ends it: who was in it when it was killed runs once more in a new one."""
    timer = killed_after(0.5, sandbox)
    outcomes = run(sandbox, attack("endless_loop"))
    timer.join()
    assert outcomes[0].status == "timeout"
    assert [content(outcome.trace) for outcome in run(sandbox, NEIGHBOUR)] == undisturbed


@pytest.mark.parametrize(
    ("deadly", "statuses"), [({"first"}, ["crashed", "ran"]), ({"first", "second"}, ["crashed", "crashed"])]
)
def test_who_is_there_whenever_it_dies_does_not_run_for_ever(
    sandbox: Sandbox, monkeypatch: pytest.MonkeyPatch, deadly: set[str], statuses: list[str]
) -> None:
    """Twice, and then the exercise has crashed; the next begins with a new server, and has no second try."""
    play, tries = Child.play, []

    def dies(child: Child, exercise: str, seed: int) -> bytes:
        tries.append(exercise)
        assert len(tries) < 10, "it would go on for ever"
        if exercise in deadly:
            raise ServerGone
        return play(child, exercise, seed)

    monkeypatch.setattr(Child, "play", dies)
    assert [outcome.status for outcome in run(sandbox, NEIGHBOUR)] == statuses
    assert tries == ["first", "first", "second"]


@pytest.mark.parametrize(
    ("kills", "expected"),
    [(1, [("ran", ""), ("ran", "")]), (2, [("crashed", CUT_OFF), ("ran", "")])],
)
def test_a_child_that_something_else_kills_is_not_out_of_memory(
    sandbox: Sandbox, monkeypatch: pytest.MonkeyPatch, kills: int, expected: list[tuple[str, str]]
) -> None:
    """As the kernel does when the machine's memory runs short. The exercise is tried once more."""
    play, left, before = Child.play, iter(range(kills)), sandbox.doubtful_outcomes

    def is_killed(child: Child, exercise: str, seed: int) -> bytes:
        if next(left, None) is not None:
            *_, pid = descendants_in_time(top_of(sandbox), 4)
            os.kill(pid, signal.SIGKILL)
        return play(child, exercise, seed)

    monkeypatch.setattr(Child, "play", is_killed)
    assert [(outcome.status, outcome.detail) for outcome in run(sandbox, NEIGHBOUR)] == expected
    assert sandbox.doubtful_outcomes == before + (kills == 2)


def test_acts_are_told_of_a_child_that_was_cut_off_before_the_first_answer(
    sandbox: Sandbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    play = Child.play

    def is_cut_off(child: Child, exercise: str, seed: int) -> bytes:
        play(child, exercise, seed)
        raise CutOff

    monkeypatch.setattr(Child, "play", is_cut_off)
    outcomes = run(sandbox, "import sys\nsys._getframe()\n" + NEIGHBOUR)
    assert [outcome.detail for outcome in outcomes] == [CUT_OFF] * 2
    assert [outcome.suspicious_acts for outcome in outcomes] == [(), (("sys._getframe", 2),)]


def test_a_sandbox_that_cannot_be_made_leaves_no_server(monkeypatch: pytest.MonkeyPatch) -> None:
    started: list[ServerProcess] = []
    start = Sandbox._start_server

    def notes(sandbox: Sandbox) -> ServerProcess:
        started.append(start(sandbox))
        return started[-1]

    def fails(_lessons: object) -> None:
        raise OSError("no drivers")

    monkeypatch.setattr(Sandbox, "_start_server", notes)
    monkeypatch.setattr(sandbox_module, "ParcelContents", fails)
    with pytest.raises(OSError, match="no drivers"):
        Sandbox("none", lessons=["probe"])
    assert [server.is_alive for server in started] == [False]


def test_a_child_that_gets_ready_too_late_is_forked_again(
    sandbox: Sandbox, monkeypatch: pytest.MonkeyPatch, undisturbed: list[object]
) -> None:
    """Nothing of the submission has run yet: it loses nothing, and if it goes on like that, nothing is graded."""
    wait_for, late = Child._wait_for, [False]

    def is_late(child: Child, answer: Header, seconds: float) -> bytes:
        if answer == {"event": "ready"} and late.pop():
            raise NoAnswer("timeout", ONLY_WAITED)
        return wait_for(child, answer, seconds)

    monkeypatch.setattr(Child, "_wait_for", is_late)
    late[:] = [False, True]
    assert [content(outcome.trace) for outcome in run(sandbox, NEIGHBOUR)] == undisturbed
    late[:] = [True, True]
    with pytest.raises(SandboxUnavailable, match="바쁘지 않은지"):
        run(sandbox, NEIGHBOUR)
    monkeypatch.undo()
    assert [content(outcome.trace) for outcome in run(sandbox, NEIGHBOUR)] == undisturbed


@pytest.mark.parametrize(
    "victim",
    [
        "the server",
        *(
            pytest.param(other, marks=pytest.mark.full)
            for other in ("bubblewrap", "its first process", "the keeper")
        ),
    ],
)
def test_no_child_outlives_what_watches_it(patient: Sandbox, victim: str) -> None:
    """Killed in the middle of an endless loop, which must not go on: nobody is left who would ever end it."""
    run(patient, NEIGHBOUR)
    first = top_of(patient)
    job = threading.Thread(target=run, args=(patient, attack("outlives_server")), daemon=True)
    job.start()
    family = [first, *descendants_in_time(first, 4)]
    time.sleep(0.5)  # the loop goes round
    place = VICTIMS.index(victim)
    os.kill(family[place], signal.SIGKILL)
    assert left_of(family[place:] if victim == "the keeper" else family) == []
    deadline = time.monotonic() + 60
    while victim != "the keeper" and top_of(patient) in (None, first) and time.monotonic() < deadline:
        time.sleep(0.02)
    again = descendants_in_time(top_of(patient), 4)  # it is run once more
    os.kill(again[1], signal.SIGKILL)
    assert left_of(again) == []
    job.join(60)
    assert not job.is_alive()


def test_who_is_forked_while_its_parent_dies_does_not_live_on() -> None:
    """The kernel tells nothing of a parent that has ended before it was asked to: this one has."""
    code = (
        "import os\n"
        "from grader.sandbox.inside import isolation\n"
        "report, reporter = os.pipe()\n"
        "if os.fork() == 0:\n"
        "    lifeline, held_open = os.pipe()\n"
        "    if os.fork() == 0:\n"
        "        os.close(held_open)\n"
        "        os.read(lifeline, 1)  # until the parent has ended\n"
        "        os.write(reporter, b'asks, ')\n"
        "        isolation.die_with_parent(lifeline)\n"
        "        os.write(reporter, b'lives on')\n"
        "    os._exit(0)\n"
        "os.close(reporter)\n"
        "os.wait()\n"
        "with os.fdopen(report) as lines:\n"
        "    print(lines.read())\n"
    )
    command = [sys.executable, "-c", code]
    said = subprocess.run(command, cwd=ROOT, check=True, stdout=subprocess.PIPE, text=True, timeout=60).stdout
    assert said == "asks, \n"


@pytest.mark.full
def test_no_process_outlives_the_grader() -> None:
    """Nobody is left who would close the server's socket: the kernel does."""
    code = (
        "import sys; from tests.sandbox.neighbour import *; from tests.sandbox.attacks import attack\n"
        "with Sandbox('bwrap', limits=Limits(seconds=120), lessons=['probe']) as sandbox:\n"
        "    print(sandbox._server._process.pid, flush=True); run(sandbox, attack('outlives_server'))\n"
    )
    grader = subprocess.Popen([sys.executable, "-c", code], cwd=ROOT, stdout=subprocess.PIPE, text=True)
    assert grader.stdout is not None
    top = int(grader.stdout.readline())
    family = [top, *descendants_in_time(top, 4)]
    time.sleep(0.5)
    grader.kill()
    grader.communicate()
    assert left_of(family) == []


@pytest.mark.parametrize("isolate", [True, False])
def test_nobody_waits_for_a_server_that_is_starting(monkeypatch: pytest.MonkeyPatch, isolate: bool) -> None:
    """One that would start for ever ends by itself once its grader has gone, and need not be killed."""
    begins, serves = server_process._SERVE_CODE.split("; from ")
    monkeypatch.setattr(server_process, "_SERVE_CODE", f"{begins}; import time; time.sleep(600)")
    assert "server import main" in serves
    server = ServerProcess(isolate, "cpu", memory_bytes=2**30)
    top = server._process.pid
    if isolate:
        descendants_in_time(top, 2)
    family = [top, *descendants(top)]
    server.control.close()
    assert left_of(family) == []
    assert server._process.wait(5) == 0
    server.close()


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
    monkeypatch.setattr(bubblewrap, "bound_folders_in_tmp", lambda: ("/tmp/not-there",))
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


def test_a_keeper_that_cannot_isolate_its_child_says_why(monkeypatch: pytest.MonkeyPatch) -> None:
    """Not that the machine is busy: nobody would find out what to do."""
    fails = (
        "from grader.sandbox.inside import isolation, server; import errno, os\n"
        "def fails(**_): raise OSError(errno.ENOSPC, 'unshare: ' + os.strerror(errno.ENOSPC))\n"
        "isolation.create_namespaces = fails; server.main()"
    )
    monkeypatch.setattr(server_process, "_SERVE_CODE", fails)
    with (
        Sandbox("bwrap", limits=LIMITS, lessons=["probe"]) as sandbox,
        pytest.raises(SandboxUnavailable, match=r"grader doctor.*\nOSError: .*unshare: No space left"),
    ):
        run(sandbox, NEIGHBOUR)


HELPERS = """
import os
import time

def first(model, opt, xb):
    for _ in range({helpers}):
        if os.fork() == 0:
            time.sleep(60)
            os._exit(0)
    time.sleep({seconds})
    return 0.0
"""


def test_without_a_filter_of_system_calls_the_server_counts_processes(
    monkeypatch: pytest.MonkeyPatch, undisturbed: list[object]
) -> None:
    """Twelve in all, of which four are the sandbox's own."""
    unfiltered = "from grader.sandbox.inside import seccomp; seccomp.is_supported = lambda: False; "
    monkeypatch.setattr(server_process, "_SERVE_CODE", unfiltered + server_process._SERVE_CODE)
    with Sandbox("bwrap", limits=LIMITS, lessons=["probe"]) as sandbox:
        few, many = (
            sandbox.run([Job(HELPERS.format(helpers=helpers, seconds=seconds), ("first",))], SEED)[0]
            for helpers, seconds in ((8, 0.3), (9, 60))
        )
        assert (few.status, few.detail) == ("ran", "")
        assert (many.status, many.detail) == ("crashed", "너무 많은 프로세스")
        assert [content(outcome.trace) for outcome in run(sandbox, NEIGHBOUR)] == undisturbed
        family = descendants(sandbox._server._process.pid) if sandbox._server else []
        assert len(family) == 2, "bubblewrap's first process and the server"


VICTIMS = ("bubblewrap", "its first process", "the server", "the keeper", "the child")
"""Each is the parent of the next."""


def killed_after(seconds: float, sandbox: Sandbox) -> threading.Timer:
    """Kills the server with everything below it in a while."""
    run(sandbox, NEIGHBOUR)
    assert sandbox._server is not None
    victims = descendants(sandbox._server._process.pid)

    def kill() -> None:
        for pid in victims:
            os.kill(pid, signal.SIGKILL)

    timer = threading.Timer(seconds, kill)
    timer.start()
    return timer


def top_of(sandbox: Sandbox) -> int | None:
    return None if sandbox._server is None else sandbox._server._process.pid


def descendants_in_time(pid: int | None, count: int) -> list[int]:
    assert pid is not None
    deadline = time.monotonic() + 60
    # What was killed just now may still wait for its new parent to take note of it.
    while len(found := [p for p in descendants(pid) if alive(p)]) < count and time.monotonic() < deadline:
        time.sleep(0.02)
    assert len(found) == count
    return found


def test_a_forked_server_is_never_isolated() -> None:
    """It holds the answers; asked for both, it started without isolation."""
    with pytest.raises(ValueError, match="isolated"):
        ServerProcess(True, "cpu", memory_bytes=2**30, forked=True)
