"""Variants of a learner's function played in a child of the notebook, which does not feel what they do."""

import os
import time
from pathlib import Path

import pytest
import torch

from grader.course_files import load_course
from grader.judging.edits import exercise_source
from grader.judging.judge import difference
from grader.judging.reference import reference
from grader.learning import SEED
from grader.learning.child_process import Bounds, ChildProcess, can_fork

pytestmark = pytest.mark.skipif(not can_fork(), reason="no fork here, or CUDA has started")

EXERCISE = load_course().exercise("train_step")
RIGHT = exercise_source(EXERCISE)
SCENARIO = EXERCISE.driver.scenarios[0]
FILENAME = "/tmp/ipykernel_test/cell.py"


@pytest.fixture(autouse=True, scope="module")
def _a_notebook_that_has_checked() -> None:
    """Before a variant is played, `check` has played the function itself: a first optimizer imports for a second."""
    reference("train_step", SEED).solution(SCENARIO.name)


def runner(source: str = RIGHT, **bounds: float) -> ChildProcess:
    namespace: dict[str, object] = {"__name__": "__main__", "torch": torch}
    exec(compile(source, FILENAME, "exec"), namespace)
    return ChildProcess(EXERCISE, namespace["train_step"], FILENAME, seed=SEED, bounds=Bounds(**bounds))  # type: ignore[arg-type]


def plays_right(runner: ChildProcess, text: str = RIGHT) -> bool:
    run = runner.run(text, SCENARIO.name)
    solution = reference("train_step", SEED).solution(SCENARIO.name)
    return run is not None and difference(run, solution, SCENARIO.atol) is None


def with_first_line(line: str) -> str:
    return RIGHT.replace("    opt.zero_grad()\n", f"    {line}\n    opt.zero_grad()\n")


def test_plays_variants_and_tells_them_apart() -> None:
    """One child plays them all; lines are those of the text."""
    wrong = RIGHT.replace("    opt.zero_grad()\n", "")
    with runner() as child:
        assert plays_right(child)
        first = child._child
        run = child.run(wrong, SCENARIO.name)
        assert run is not None
        assert [e.kind for e in run.events][:1] == ["forward"]
        assert run.events[0].line is not None
        assert plays_right(child)
        assert child._child == first


def test_helpers_and_imports_of_a_variant_are_its_own() -> None:
    """An edit may be one of a helper, or need an import; what else the text does is not done again."""
    calls = RIGHT.replace("    opt.zero_grad()\n", "    clear(opt)\n")
    helper = "def clear(opt):\n    {}\n\n\n"
    again = "raise RuntimeError('the rest of the text')\n"
    with runner(helper.format("pass") + calls) as child:
        assert not plays_right(child, helper.format("pass") + calls)
        assert plays_right(child, again + helper.format("opt.zero_grad()") + calls)
        assert plays_right(
            child, helper.format("opt.zero_grad(set_to_none=bool(tau))") + calls + "\nfrom math import tau"
        )
        assert not plays_right(child, helper.format("opt.zero_grad(set_to_none=bool(tau))") + calls)


BAD = {
    "endless loop": "while True: pass",
    "endless loop that catches": "exec('while True:\\n  try:\\n    while True: pass\\n  except BaseException: pass')",
    "sleep": "import time; time.sleep(60)",
    "os._exit": "import os; os._exit(0)",
    "SIGKILL": "import os, signal; os.kill(os.getpid(), signal.SIGKILL)",
    "sys.exit in a thread's place": "raise KeyboardInterrupt",
    "memory hog": "hog = [bytearray(2**24) for _ in range(10**6)]",
    "one huge tensor": "hog = torch.ones(2**40)",
    "segmentation fault": "import ctypes; ctypes.string_at(0)",
    "closes everything": "import os; os.closerange(3, 256)",
}


@pytest.mark.parametrize("line", BAD.values(), ids=BAD)
def test_a_variant_that_misbehaves_is_given_up(line: str) -> None:
    """And the next one is played as if nothing had been."""
    with runner(cpu_seconds=0.3) as child:
        assert plays_right(child)
        started = time.monotonic()
        assert not plays_right(child, with_first_line(line))
        assert time.monotonic() - started < 6
        assert plays_right(child)


def test_prints_reach_nobody(capfd: pytest.CaptureFixture[str]) -> None:
    """Neither Python's own nor those of the C library; and a storm of them costs nothing."""
    line = "print('x' * 10**6); import os; os.write(1, b'y' * 10**6); os.write(2, b'z')"
    with runner() as child:
        assert plays_right(child, with_first_line(line))
    said = capfd.readouterr()
    assert said.out == said.err == ""


def test_files_go_with_the_child(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """They land in a folder of its own, which is gone afterwards, and may not be large."""
    monkeypatch.chdir(tmp_path)
    with runner() as child:
        folder = Path(child._folder)
        assert plays_right(child, with_first_line("open('left.txt', 'w').write('x')"))
        assert (folder / "left.txt").is_file()
        assert not plays_right(child, with_first_line("open('large.txt', 'w').write('x' * 10**8)"))
    assert not folder.exists()
    assert not list(tmp_path.iterdir())


def test_the_notebooks_own_state_stays(monkeypatch: pytest.MonkeyPatch) -> None:
    """Globals, environment, folder, threads and signals are as before."""
    before = (os.getcwd(), dict(os.environ), torch.get_num_threads())
    with runner() as child:
        assert plays_right(
            child, with_first_line("global torch; torch = torch; import os; os.environ['X'] = '1'")
        )
        assert child._globals["torch"] is torch
        assert "__builtins__" in child._globals
    assert before == (os.getcwd(), dict(os.environ), torch.get_num_threads())


@pytest.mark.parametrize("threads", [2, 4])
def test_after_the_notebook_has_computed_with_threads(threads: int) -> None:
    """OpenMP's threads are not there after a fork: a child that waited for them would hang."""
    before = torch.get_num_threads()
    torch.set_num_threads(threads)
    try:
        x = torch.randn(600, 600, requires_grad=True)
        for _ in range(3):
            (x @ x).relu().sum().backward()
            x.sort()
        text = with_first_line(
            "big = torch.randn(700, 700, requires_grad=True); (big @ big).exp().sum().backward(); big.sort()"
        )
        with runner(cpu_seconds=3) as child:
            assert plays_right(child, text)
            assert plays_right(child)
    finally:
        torch.set_num_threads(before)


def test_gives_up_when_too_many_have_to_be_killed() -> None:
    """A learner who waits is not kept waiting."""
    with runner(cpu_seconds=0.05) as child:
        for number in range(20):
            child.run(with_first_line(f"import os; os._exit({number})"), SCENARIO.name)
        assert not child.usable
        assert not plays_right(child)


def test_gives_up_when_the_time_is_over() -> None:
    """All plays together have a limit."""
    with runner(seconds=0.0) as child:
        assert not plays_right(child)
        assert child._child is None


def test_text_that_defines_nothing_is_not_played() -> None:
    """Only the definition is executed; the rest of a cell was executed when the learner ran it."""
    with runner() as child:
        assert child.run("x = 1", SCENARIO.name) is None
        assert child.run("def train_step(", SCENARIO.name) is None
        assert plays_right(child, "import os; os._exit(1)\n" + RIGHT)
