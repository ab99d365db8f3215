"""Hostile submissions get nothing for it, and the next submission's trace is what it would have been."""

import os
import re
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from grader.observe.trace import Trace
from grader.sandbox import bubblewrap
from grader.sandbox.bubblewrap import Probe, explain
from grader.sandbox.client import Limits, SandboxUnavailable
from grader.sandbox.inside import frames
from grader.sandbox.sandbox import Job, Outcome, Sandbox

TESTS = Path(__file__).parent
ATTACKS = TESTS / "attacks"
LIMITS = Limits(seconds=1.5)
SEED = 7

RIGHT = """
def {name}(model, opt, xb):
    opt.zero_grad()
    loss = model(xb).pow(2).mean()
    loss.backward()
    opt.step()
    return loss.item()
"""
NEIGHBOUR = RIGHT.format(name="first") + RIGHT.format(name="second")


@dataclass(frozen=True)
class Expected:
    """What becomes of an attack's exercise, and of the honest one that stands in the same file."""

    status: str = "ran"
    """One or several, joined by `|`, where it depends on how fast the machine is."""
    says: str = ""
    """Pattern of `detail`, or of the failure `Type: message`; empty: it ran to its (wrong) end."""
    other: str = "right"
    """`right`: the exercise after it is untouched; `lost`: it costs the same file's other exercises too."""
    patient: bool = False
    """It has as much time as it wants: what it looks for is not there, however long it looks."""


ATTACKS_EXPECTED = {
    # Looking for answers and secrets.
    "reads_answers": Expected(says=r"LookupError: found: $", patient=True),
    "reads_canary": Expected(says=r"FileNotFoundError: .*canary"),
    "reads_environment": Expected(says=r"LookupError: (?!.*token-of-the-instructor)"),
    "reads_memory": Expected(says=r"LookupError: found: 0 in much"),
    "lists_home": Expected(says=r"LookupError: "),
    # Getting out.
    "connects": Expected(says=r"PermissionError"),
    "connects_by_hand": Expected("ran|crashed", says=r"sockets: \[\]|종료 코드 1"),
    "leaves_namespaces": Expected(says=r"OSError: done: \[\] \[\]"),
    "runs_shell": Expected(says=r"PermissionError"),
    "writes_outside": Expected(says=r"OSError: written: \[\]"),
    "deletes_files": Expected("ran|timeout"),
    "kills_parent": Expected(),
    # Taking more than there is.
    "fork_bomb": Expected(says=r"ChildProcessError: made: 0"),
    "thread_bomb": Expected("crashed", says="너무 많은 스레드"),
    "takes_memory_torch": Expected("memory"),
    "takes_memory_numpy": Expected("memory"),
    "takes_memory_bytes": Expected("memory"),
    "takes_memory_shared": Expected("memory"),
    "takes_memory_slowly": Expected("memory|timeout"),
    "fills_disk": Expected(says=r"OSError: \[Errno 28\]"),
    "endless_loop": Expected("timeout"),
    "endless_loop_catching": Expected("timeout"),
    "endless_import": Expected("timeout", other="lost"),
    "endless_output": Expected("output"),
    "endless_raw_output": Expected("output"),
    "deep_recursion": Expected("memory|timeout|crashed"),
    "grows_trace": Expected("crashed|timeout|memory"),
    # Ending early.
    "exits": Expected("crashed", says="종료 코드 0"),
    "exits_at_import": Expected("crashed", says="종료 코드 3", other="lost"),
    "sys_exits": Expected(says="SystemExit"),
    "segfaults": Expected("crashed", says="SIGSEGV"),
    "aborts": Expected("crashed", says="SIG"),
    "closes_files": Expected("crashed"),
    # Lying.
    "patches_comparisons": Expected(other="lost"),
    "patches_recorder": Expected(other="lost"),
    "patches_serialization": Expected("crashed", other="lost"),
    "hides_gradients": Expected(other="lost"),
    "breaks_off": Expected(says=""),
    "forges_frames": Expected("crashed", other="lost"),
    "forges_trace": Expected(other="lost"),
    "forges_giant_frame": Expected("crashed", says="읽을 수 없는 답"),
    "forges_endless_timeline": Expected("crashed", says="읽을 수 없는 기록", other="lost"),
    "forges_deep_fact": Expected("crashed", says="읽을 수 없는 기록", other="lost"),
    "forges_bad_json": Expected("crashed", says="읽을 수 없는 답"),
    "traces_execution": Expected(says="", other="lost"),
    # Being strange.
    "resizes_layers": Expected("ran|crashed"),
    "leaves_threads": Expected(),
    "huge_message": Expected(says=r"^ValueError: x{100,2000}$"),
    "hostile_exception": Expected(says=""),
    "hostile_base_exception": Expected(says="^Wild: "),
    "hostile_return": Expected(says="KeyboardInterrupt"),
    "hostile_streams": Expected(),
    "interrupts": Expected(says="KeyboardInterrupt"),
    "own_base_exception": Expected(says="Stop: 아무도 잡지 않아요"),
    "ends_the_check": Expected(says="TimeLimit"),
}


@pytest.fixture(scope="module")
def sandbox() -> Iterator[Sandbox]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("HANSTEP_TOKEN", "token-of-the-instructor")
        with Sandbox("bwrap", limits=LIMITS, modules=["probe"], extra=TESTS / "drivers") as sandbox:
            yield sandbox


@pytest.fixture(scope="module")
def patient() -> Iterator[Sandbox]:
    with Sandbox("bwrap", limits=Limits(seconds=120), modules=["probe"], extra=TESTS / "drivers") as sandbox:
        yield sandbox


@pytest.fixture(scope="module")
def unisolated() -> Iterator[Sandbox]:
    with Sandbox("none", limits=LIMITS, modules=["probe"], extra=TESTS / "drivers") as sandbox:
        yield sandbox


@pytest.fixture(scope="module")
def undisturbed(unisolated: Sandbox) -> list[object]:
    """What the neighbour's traces are when nobody attacked before: from a server of its own."""
    return [content(outcome.trace) for outcome in run(unisolated, NEIGHBOUR)]


@pytest.fixture(scope="module")
def undisturbed_second(unisolated: Sandbox) -> object:
    """The honest `second`, wherever in its file it stands."""
    return content(run(unisolated, NEIGHBOUR)[1].trace, lines=False)


def run(sandbox: Sandbox, source: str) -> list[Outcome]:
    return sandbox.run(Job(source, ("first", "second")), SEED)


def content(trace: Trace | None, *, lines: bool = True) -> object:
    """Everything in a trace but how long it took (and where its lines stood), arrays bit by bit."""
    assert trace is not None
    return trace.load_failure, [
        (
            name,
            sorted((key, a.dtype.str, a.shape, a.tobytes()) for key, a in run.arrays.items()),
            sorted((key, a.dtype.str, a.shape, a.tobytes()) for key, a in run.evidence.items()),
            run.facts,
            run.labels,
            [replace(event, line=event.line if lines else None) for event in run.events],
            run.failure,
        )
        for name, run in trace.runs.items()
    ]


def said(outcome: Outcome) -> str:
    """The detail, or what the code raised."""
    failures = [] if outcome.trace is None else [outcome.trace.load_failure]
    failures += [] if outcome.trace is None else [run.failure for run in outcome.trace.runs.values()]
    return outcome.detail or next((f"{f.type}: {f.message}" for f in failures if f is not None), "")


def attack(name: str, **places: str) -> str:
    """The attack's file with an honest `second` behind it."""
    text = (ATTACKS / f"{name}.py").read_text()
    for place, value in places.items():
        text = text.replace(place, value)
    return text + RIGHT.format(name="second")


class TestAttacks:
    pytestmark = pytest.mark.sandbox

    def test_every_attack_has_an_expectation(self) -> None:
        assert {path.stem for path in ATTACKS.glob("*.py")} == set(ATTACKS_EXPECTED)

    @pytest.mark.parametrize("name", ATTACKS_EXPECTED)
    def test_gets_nothing_and_costs_nobody_else(
        self,
        request: pytest.FixtureRequest,
        undisturbed: list[object],
        undisturbed_second: object,
        tmp_path: Path,
        name: str,
    ) -> None:
        expected = ATTACKS_EXPECTED[name]
        sandbox: Sandbox = request.getfixturevalue("patient" if expected.patient else "sandbox")
        canary = tmp_path / "canary"
        canary.write_text("the instructor's")
        with socket.create_server(("127.0.0.1", 0)) as listener:
            listener.settimeout(0.01)
            port = str(listener.getsockname()[1])
            first, second = run(sandbox, attack(name, PORT=port, CANARY=str(canary)))
            with pytest.raises(TimeoutError):
                listener.accept()

        assert first.status in expected.status.split("|"), first
        assert re.search(expected.says, said(first)), first
        assert expected.patient or first.seconds < LIMITS.seconds + 1
        if first.trace is not None:
            assert content(first.trace) != undisturbed[0]
        if expected.other == "right":
            assert second.status == "ran"
            assert content(second.trace, lines=False) == undisturbed_second
        assert canary.read_text() == "the instructor's"
        assert [content(outcome.trace) for outcome in run(sandbox, NEIGHBOUR)] == undisturbed

    def test_thousands_of_failing_imports_cost_nothing(
        self, sandbox: Sandbox, undisturbed_second: object
    ) -> None:
        """Each is a warning; a trace that carried them all would be refused."""
        imports = "".join(f"import missing_{number}\n" for number in range(3000))
        outcomes = run(sandbox, imports + NEIGHBOUR)
        trace = outcomes[1].trace
        assert content(trace, lines=False) == undisturbed_second
        assert trace is not None
        assert 0 < len(trace.warnings) <= 20

    def test_home_shows_only_the_way_to_python(self, sandbox: Sandbox) -> None:
        first, _ = run(sandbox, attack("lists_home"))
        seen = set(said(first).removeprefix("LookupError: ").split())
        bound = [*bubblewrap._python_directories(), *bubblewrap._site_directories()]
        way = {str(parent) for path in bound for parent in (path, *path.parents)}
        assert seen <= way | {"/etc/alternatives", "/etc/ld.so.cache"}

    def test_memory_holds_no_earlier_submission(self, sandbox: Sandbox) -> None:
        """A marker that only the submission before contained is nowhere in the memory of the next."""
        marked = "text = 'only one wrote this'\n" * 2000
        assert run(sandbox, marked + NEIGHBOUR)[0].status == "ran"
        first, _ = run(sandbox, attack("reads_memory"))
        assert said(first) == "LookupError: found: 0 in much"
        # The search does find what is there: the same text in its own file.
        first, _ = run(sandbox, marked + attack("reads_memory"))
        assert re.match("LookupError: found: [1-9]", said(first))


class TestLimits:
    pytestmark = pytest.mark.sandbox

    def test_processor_time_counts_like_time(self, sandbox: Sandbox, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(sandbox, "_limits", Limits(seconds=30, cpu_seconds=0.5))
        (outcome,) = sandbox.run(Job((ATTACKS / "endless_loop.py").read_text(), ("first",)), SEED)
        assert outcome.status == "timeout"
        assert outcome.seconds < 20

    def test_output_is_counted_for_each_exercise(self, sandbox: Sandbox) -> None:
        """Two exercises that print 60 % of the limit each are both within it."""
        printed = LIMITS.output_bytes * 6 // 10
        source = re.sub(r"\n    return", f"\n    print('x' * {printed})\n    return", NEIGHBOUR)
        assert [outcome.status for outcome in run(sandbox, source)] == ["ran", "ran"]

    def test_a_long_submission_arrives_whole(self, sandbox: Sandbox, undisturbed: list[object]) -> None:
        source = "# 한글 주석\n" * 100_000
        outcomes = run(sandbox, NEIGHBOUR.strip() + "\n" + source)
        assert [outcome.status for outcome in outcomes] == ["ran", "ran"]

    def test_same_seed_same_trace_other_seed_other_trace(self, sandbox: Sandbox) -> None:
        job = Job(NEIGHBOUR, ("first",))
        traces = [content(sandbox.run(job, seed)[0].trace) for seed in (1, 1, 2)]
        assert traces[0] == traces[1] != traces[2]


class TestServer:
    pytestmark = pytest.mark.sandbox

    def test_its_death_costs_one_job(self, sandbox: Sandbox, undisturbed: list[object]) -> None:
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

    def test_its_death_between_two_jobs_costs_nothing(
        self, sandbox: Sandbox, undisturbed: list[object]
    ) -> None:
        run(sandbox, NEIGHBOUR)
        assert sandbox._server is not None
        for pid in descendants(sandbox._server._process.pid):
            os.kill(pid, signal.SIGKILL)
        sandbox._server._process.wait()
        assert [content(outcome.trace) for outcome in run(sandbox, NEIGHBOUR)] == undisturbed

    def test_a_child_that_cannot_be_isolated_is_nobodys_crash(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """Nobody's points are lost for it; and nothing is left of a sandbox that is closed."""
        monkeypatch.setattr(bubblewrap, "below_tmp", lambda: ("/tmp/not-there",))
        with Sandbox("bwrap", limits=LIMITS, modules=["probe"], extra=TESTS / "drivers") as sandbox:
            with pytest.raises(SandboxUnavailable, match=r"격리해서 실행하지 못했어요.*\n.*not-there"):
                run(sandbox, NEIGHBOUR)
            assert sandbox._server is not None
            family = descendants(sandbox._server._process.pid)
            assert family
        deadline = time.monotonic() + 5
        while any(alive(pid) for pid in family) and time.monotonic() < deadline:
            time.sleep(0.05)
        assert not any(alive(pid) for pid in family)

    def test_a_missing_exercise_module_is_told(self) -> None:
        with (
            Sandbox("bwrap", limits=LIMITS, modules=["no_such_lesson"]) as sandbox,
            pytest.raises(SandboxUnavailable, match="no_such_lesson"),
        ):
            run(sandbox, NEIGHBOUR)


class TestWithoutIsolation:
    """`--sandbox none`: the same server; loops, crashes and limits still cost only the submission itself."""

    @pytest.mark.parametrize(
        "name",
        [
            "endless_loop_catching",
            "endless_import",
            "endless_output",
            "exits",
            "segfaults",
            "closes_files",
            "own_base_exception",
            "forges_frames",
            "patches_serialization",
            pytest.param(
                "takes_memory_bytes",
                marks=pytest.mark.skipif(sys.platform != "linux", reason="macOS enforces no memory limit"),
            ),
        ],
    )
    def test_costs_nobody_else(self, unisolated: Sandbox, undisturbed: list[object], name: str) -> None:
        first, _ = run(unisolated, attack(name))
        assert first.status in ATTACKS_EXPECTED[name].status.split("|"), first
        assert [content(outcome.trace) for outcome in run(unisolated, NEIGHBOUR)] == undisturbed


class TestFrames:
    """What a child writes is read frame by frame, and never beyond its limit."""

    def test_pieces_become_frames(self) -> None:
        left, right = socket.socketpair()
        with left, right:
            frames.send(left, {"exercise": "first"}, b"body")
            frames.send(left, {"exercise": "second"})
            data = right.recv(1000)
        reader = frames.Reader(max_body=10)
        found = []
        for byte in data:
            reader.feed(bytes([byte]))
            frame = reader.next()
            found += [frame] if frame else []
        assert found == [({"exercise": "first"}, b"body"), ({"exercise": "second"}, b"")]
        assert not reader.pending

    @pytest.mark.parametrize(
        "data",
        [
            b"\xff" * 8,
            b"\x00\x00\x00\x02\x00\x00\x00\xff{}",
            b"\x00\x00\x00\x02\x00\x00\x00\x00[]",
            b"\x00\x00\x00\x02\x00\x00\x00\x00\xff\xff",
            b"\x00\x00\xff\xff\x00\x00\x00\x00" + b"[" * 0xFFFF,
        ],
    )
    def test_what_is_no_frame_is_refused(self, data: bytes) -> None:
        reader = frames.Reader(max_body=10)
        reader.feed(data)
        with pytest.raises(frames.FrameError):
            reader.next()


class TestCommandLine:
    """What is bound holds no answers, wherever the grader, its environment and its course are installed."""

    @pytest.mark.parametrize("kind", ["bwarp", ""])
    def test_unknown_kind(self, kind: str) -> None:
        with pytest.raises(ValueError, match="kind must be"):
            Sandbox(kind, modules=[])

    def test_an_environment_inside_the_checkout(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """The checkout beneath a bound folder is masked, and its environment bound again on top."""
        site = tmp_path / "lib" / "hanstep" / ".venv" / "site-packages"
        site.mkdir(parents=True)
        monkeypatch.setattr(bubblewrap, "_answers", lambda: {tmp_path / "lib" / "hanstep"})
        arguments = bubblewrap._binds_and_masks([site, tmp_path / "lib"])
        order = [arguments[i + 1] for i, word in enumerate(arguments) if word in ("--ro-bind", "--tmpfs")]
        assert order == [str(tmp_path / "lib"), str(tmp_path / "lib" / "hanstep"), str(site)]
        assert arguments[arguments.index(str(tmp_path / "lib" / "hanstep")) - 1] == "--tmpfs"

    @pytest.mark.sandbox
    def test_an_installed_grader_is_masked(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        """Of a grader in site-packages only what enters the sandbox is visible inside."""
        site = tmp_path / "site-packages"
        for name in ("grader/judge.py", "torch_like/file.py", "share/hanstep/solutions/01.toml"):
            (site / name).parent.mkdir(parents=True, exist_ok=True)
            (site / name).write_text("")
        monkeypatch.setattr(bubblewrap, "_site_directories", lambda: (site,))
        monkeypatch.setattr(bubblewrap, "course_root", lambda: site / "share" / "hanstep")
        walk = f"sorted(name for *_, names in os.walk({str(site)!r}) for name in names)"
        code = f"import os; print({walk}, os.listdir('/hanstep/grader'))"
        shown = subprocess.run(
            [*bubblewrap.isolated(), *bubblewrap.python([], code)],
            env=bubblewrap.environment("cpu"),
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        assert shown.startswith("['file.py'] ")
        assert "judge" not in shown

    def test_no_bubblewrap_is_told_with_the_command(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(bubblewrap.sys, "platform", "linux")
        monkeypatch.setattr(
            bubblewrap.shutil, "which", lambda name: "/usr/bin/apt-get" if name == "apt-get" else None
        )
        bubblewrap.probe.cache_clear()
        try:
            with pytest.raises(SandboxUnavailable, match="apt-get install -y bubblewrap"):
                Sandbox("auto", modules=[])
        finally:
            bubblewrap.probe.cache_clear()

    @pytest.mark.parametrize(
        "reason", ["not-linux", "no-bwrap", "apparmor", "userns-off", "container", "refused"]
    )
    def test_every_reason_is_explained_in_korean(self, reason: str) -> None:
        text = explain(Probe(False, reason, "sudo mend-it", "bwrap: no"))  # type: ignore[arg-type]
        assert re.search("[가-힣]", text)
        assert "sudo mend-it" in text


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
