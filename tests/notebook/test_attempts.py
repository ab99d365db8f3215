"""Attempts at a learner's function played beside the notebook, which does not feel what they do."""

import os
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
import torch

from grader.course.reading import load_course
from grader.grading import SEED
from grader.judging.compare_runs import find_difference
from grader.judging.reference import cached_reference
from grader.judging.repair.search import Runner
from grader.judging.solution import exercise_source
from grader.notebook import attempts as module
from grader.notebook.attempts import attempts, end_server, start_server
from grader.notebook.check import judge_in_kernel
from grader.sandbox.attempts_spent import AttemptsSpent
from grader.sandbox.server_process import SandboxUnavailable, ServerProcess
from tests.notebook.test_notebook import cell

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="attempts are played on Linux only")

EXERCISE = load_course().exercise("train_step")
RIGHT = exercise_source(EXERCISE)
SCENARIO = EXERCISE.driver.scenarios[0]
IMPORTS = "import torch\n"
CALLS_HELPER = RIGHT.replace("    opt.zero_grad()\n", "    clear(opt)\n")
ROUNDS = RIGHT.replace("return loss.item()", "return round(loss.item(), 3)")


@pytest.fixture
def runner() -> Iterator[Runner]:
    with attempts(EXERCISE, IMPORTS, "cpu") as found:
        assert found is not None
        yield found


@pytest.fixture(scope="module", autouse=True)
def _no_server_stays() -> Iterator[None]:
    yield
    end_server()


def plays_right(runner: Runner, text: str = RIGHT) -> bool:
    run = runner.run(text, SCENARIO.name)
    solution = cached_reference("train_step", SEED).solution_run(SCENARIO.name)
    return run is not None and find_difference(run, solution, SCENARIO.atol) is None


def with_first_line(line: str) -> str:
    return RIGHT.replace("    opt.zero_grad()\n", f"    {line}\n    opt.zero_grad()\n")


def test_lines_are_those_of_the_cell() -> None:
    """Whatever stands before it, and none of what stands there."""
    helper = "import torch\n\ndef clear(opt):\n    opt.zero_grad()\n\n"
    with attempts(EXERCISE, helper, "cpu") as around:
        assert around is not None
        run, raises = (
            around.run(text, SCENARIO.name) for text in (CALLS_HELPER, with_first_line("raise ValueError"))
        )
    assert run is not None
    assert raises is not None
    lines = CALLS_HELPER.splitlines()
    found = {event.kind: event.line and lines[event.line - 1].strip() for event in run.events}
    assert found["zero_grad"] is None, "another cell's line"
    assert found["step"] == "opt.step()"
    assert raises.failure is not None
    line = raises.failure.line
    assert line is not None
    assert with_first_line("raise ValueError").splitlines()[line - 1].strip() == "raise ValueError"


def test_of_a_module_only_what_is_graded_is_run() -> None:
    """A script trains for hours below its functions; a cell was cut out of a notebook already."""
    script = f"import torch, os\n\n\n{RIGHT}\n\nos._exit(1)\nwhile True:\n    pass\n"
    with attempts(EXERCISE, None, "cpu") as runner:
        assert runner is not None
        assert plays_right(runner, script)


def test_the_server_stays_warm_from_check_to_check() -> None:
    """It takes two seconds to start; of another lesson there is another, and no two at once."""
    first = start_server(EXERCISE, "cpu")
    for _ in range(2):
        with attempts(EXERCISE, IMPORTS, "cpu") as runner:
            assert runner is not None
            assert plays_right(runner)
        assert start_server(EXERCISE, "cpu") is first
    assert start_server(load_course().exercise("lr_at"), "cpu") is not first
    assert len(module._warm) == 1


def test_a_server_that_was_killed_is_begun_again() -> None:
    """The system takes what it likes when memory is short."""
    with attempts(EXERCISE, IMPORTS, "cpu") as runner:
        assert runner is not None
        assert plays_right(runner)
        server = module._warm["01", "cpu"]._server
        assert server is not None
        server._process.kill()
        server._process.wait()
        assert plays_right(runner)


def test_a_check_says_what_it_knows_where_no_server_starts(monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(self: ServerProcess) -> None:
        raise SandboxUnavailable("no server here")

    function = cell(ROUNDS)["train_step"]
    assert judge_in_kernel(EXERCISE, function).diagnosis.repair  # type: ignore[arg-type]
    end_server()
    monkeypatch.setattr(ServerProcess, "wait_until_warm", refused)
    feedback = judge_in_kernel(EXERCISE, function)  # type: ignore[arg-type]
    assert feedback.status == "failed"
    assert not feedback.diagnosis.repair


def test_a_check_plays_with_the_helpers_of_other_cells() -> None:
    """And finds what to mend in its own."""
    helper = "SCALE = 1.0\n\ndef clear(opt):\n    opt.zero_grad(set_to_none=bool(SCALE))\n"
    source = CALLS_HELPER.replace("return loss.item()", "return round(loss.item(), 3)")
    function = cell(source, helper, "demo = [1]; demo.append(len(demo))")
    feedback = judge_in_kernel(EXERCISE, function["train_step"])  # type: ignore[arg-type]
    assert [step.old for step in feedback.diagnosis.repair] == [("    return round(loss.item(), 3)",)]


BAD = {
    "endless loop": "while True: pass",
    "endless loop that catches": "exec('while True:\\n  try:\\n    while True: pass\\n  except BaseException: pass')",
    "os._exit": "import os; os._exit(0)",
    "SIGKILL": "import os, signal; os.kill(os.getpid(), signal.SIGKILL)",
    "raises what nobody catches": "raise KeyboardInterrupt",
    "one huge tensor": "hog = torch.ones(2**40)",
    "segmentation fault": "import ctypes; ctypes.string_at(0)",
    "closes everything": "import os; os.closerange(3, 256)",
}


@pytest.mark.parametrize("line", BAD.values(), ids=BAD)
def test_an_attempt_that_misbehaves_is_given_up(line: str, runner: Runner) -> None:
    """And the next one is played as if nothing had been. (More of it: tests/sandbox/test_attempts.py.)"""
    assert plays_right(runner)
    assert not plays_right(runner, with_first_line(line))
    assert plays_right(runner)


def test_prints_reach_nobody(runner: Runner, capfd: pytest.CaptureFixture[str]) -> None:
    line = "print('x' * 10**4); import os; os.write(1, b'y' * 10**4); os.write(2, b'z')"
    assert plays_right(runner, with_first_line(line))
    said = capfd.readouterr()
    assert said.out == said.err == ""


def test_the_notebooks_own_state_stays(
    runner: Runner, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Environment, folder and threads are as before; what is written lands in a folder of the server's."""
    monkeypatch.chdir(tmp_path)
    before = (os.getcwd(), dict(os.environ), torch.get_num_threads())
    line = "open('left.txt', 'w').write('x'); import os; os.environ['X'] = '1'"
    assert plays_right(runner, with_first_line(line))
    assert before == (os.getcwd(), dict(os.environ), torch.get_num_threads())
    assert not list(tmp_path.iterdir())


def test_gives_up_when_the_time_is_over(monkeypatch: pytest.MonkeyPatch) -> None:
    """All plays together have a limit: a learner waits for them."""
    monkeypatch.setattr(module, "SECONDS", 0.0)
    with attempts(EXERCISE, IMPORTS, "cpu") as runner:
        assert runner is not None
        time.sleep(0.01)
        with pytest.raises(AttemptsSpent):
            plays_right(runner)
