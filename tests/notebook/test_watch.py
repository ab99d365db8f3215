"""`grader watch` in a real terminal: one exercise at a time, keys, saves, praise with a reason."""

import os
import re
import select
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from io import StringIO
from pathlib import Path

import pytest
from rich.console import Console

from grader.course.reading import load_course
from grader.judging.solution import exercise_source
from grader.learner.progress import Progress
from grader.notebook.watch import Watch, _content
from tests.places import ROOT

pytestmark = pytest.mark.skipif(os.name != "posix", reason="a pseudo-terminal")

COURSE = load_course()
STEP, EXTRAS, ZERO = (
    exercise_source(COURSE.exercise(n)) for n in ("train_step", "train_step_extras", "zero_gradients")
)
EMPTY = "def train_step_extras(model, opt, loss_fn, xb, yb):\n    raise NotImplementedError\n\n"
WRONG_ZERO = "def zero_gradients(params):\n    for p in params:\n        p.grad = 0\n\n"
HEAD = "import torch\nfrom torch import nn\n\n"


class Terminal:
    """A learner before `grader watch`: presses keys, reads the screen."""

    def __init__(self, file: Path) -> None:
        import pty

        self._ours, theirs = pty.openpty()
        environment = {**os.environ, "TERM": "xterm-256color", "COLUMNS": "100", "LINES": "45"}
        command = [sys.executable, "-m", "grader", "watch", str(file)]
        self.process = subprocess.Popen(
            command,
            cwd=ROOT,
            env=environment,
            stdin=theirs,
            stdout=theirs,
            stderr=theirs,
            start_new_session=True,
        )
        os.close(theirs)
        self._screens = ""

    def press(self, key: str) -> None:
        os.write(self._ours, key.encode())

    def until(self, *texts: str, seconds: float = 90) -> str:
        """The screen as soon as it is drawn to its end with all these texts."""
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline:
            if select.select([self._ours], [], [], 0.05)[0]:
                try:
                    self._screens += os.read(self._ours, 65_536).decode("utf-8", "replace")
                except OSError:  # it has ended
                    break
            screen = self.screen()
            if all(text in screen for text in texts) and "끝내기" in screen.splitlines()[-1]:
                return screen
        raise AssertionError(f"not seen: {texts}\n{self.screen()}")

    def seen(self, text: str, seconds: float = 60) -> None:
        """Wait until the text has been written."""
        deadline = time.monotonic() + seconds
        while text not in self._screens:
            assert time.monotonic() < deadline, self.screen()
            if select.select([self._ours], [], [], 0.05)[0]:
                self._screens += os.read(self._ours, 65_536).decode("utf-8", "replace")

    def checking(self, seconds: float = 30) -> None:
        """Wait until a check has run for a while."""
        deadline, seen = time.monotonic() + seconds, 0
        while seen < 10:
            assert time.monotonic() < deadline, self.screen()
            if select.select([self._ours], [], [], 0.05)[0]:
                new = os.read(self._ours, 65_536).decode("utf-8", "replace")
                self._screens += new
                seen += "확인하는 중이에요" in new

    def screen(self) -> str:
        """What stands there since it was cleared last."""
        last = self._screens.rsplit("\x1b[2J", 1)[-1]
        last = re.sub(r"\x1b\[\??[0-9;]*[A-Za-z]", "", last).replace("\r", "")
        return last.strip() or "-"

    def close(self) -> None:
        self.process.kill()
        self.process.wait()
        os.close(self._ours)


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "hw.py"
    path.write_text(HEAD + STEP + "\n\n" + EMPTY + WRONG_ZERO, encoding="utf-8")
    return path


@pytest.fixture
def terminal(file: Path) -> Iterator[Terminal]:
    opened = Terminal(file)
    yield opened
    opened.close()


def save(file: Path, text: str) -> None:
    """As most editors do: a new file under the old name."""
    file.with_name("new").write_text(text, encoding="utf-8")
    file.with_name("new").replace(file)


def test_a_session(file: Path, terminal: Terminal) -> None:
    """What passes is not shown, an empty one comes first; keys skip, help, repeat and end; a save goes on."""
    screen = terminal.until("(train_step_extras)", "아직 시작하지 않았어요", "3문제 가운데 1문제 통과")
    assert "(zero_gradients)" not in screen
    assert COURSE.exercise("train_step").because[:20].replace("`", "") in screen.replace("\n", "").replace(
        "`", ""
    )

    terminal.press("h")
    assert "힌트 1/" in terminal.until("힌트 1/")
    terminal.press("ㅗ")  # the same key in Hangul mode
    assert "힌트 2/" in terminal.until("힌트 2/")

    terminal.press("n")
    screen = terminal.until("(zero_gradients)")
    assert "(train_step_extras)" not in screen
    assert "힌트" not in screen.splitlines()[0]
    assert "✗ 그레이디언트 비우기" not in screen, "the mistake and its line come first"
    assert len(screen.splitlines()) < 20
    terminal.press("d")
    screen = terminal.until("✗ 그레이디언트 비우기", "d 접기")
    assert screen.count("(zero_gradients)") == 1, "added below the mistake and its line"
    assert len(screen.splitlines()) <= 60
    terminal.press("ㅇ")
    assert "✗ 그레이디언트 비우기" not in terminal.until("d 자세히")
    terminal.press("n")
    terminal.until("(train_step_extras)")

    save(file, HEAD + STEP + "\n\n" + EXTRAS + "\n\n" + WRONG_ZERO)
    screen = terminal.until("클리핑과 스케줄러 통과", "(zero_gradients)", "2문제 통과")
    assert "줄어" in screen, "why it passed"
    assert "XP" in screen

    terminal.press("r")
    screen = terminal.until("(zero_gradients)")
    save(file, "def (")
    terminal.until("연습 문제를 찾지 못했어요")
    save(file, HEAD + STEP + "\n\n" + EXTRAS + "\n\n" + ZERO)
    terminal.until("모두 통과했어요", "3문제 가운데 3문제 통과")
    save(file, HEAD + STEP.replace("    opt.zero_grad()\n", "") + "\n\n" + EXTRAS + "\n\n" + ZERO)
    terminal.until("(train_step)", "opt.zero_grad()")

    endless = EMPTY.replace("raise NotImplementedError", "while True: pass")
    save(file, HEAD + endless + WRONG_ZERO)
    terminal.checking()
    terminal.press("n")  # it would take until the time limit
    terminal.until("(zero_gradients)", seconds=9)
    terminal.press("n")
    terminal.checking()
    terminal.press("q")
    assert terminal.process.wait(timeout=5) == 0


def test_keys_pressed_while_it_loads_are_followed(terminal: Terminal) -> None:
    """It said nothing for the seconds that PyTorch takes, and dropped what was pressed meanwhile."""
    terminal.seen("PyTorch를 불러오는 중이에요")
    terminal.press("h")
    assert "힌트 1/" in terminal.until("(train_step_extras)", "힌트 1/")


def test_q_ends_it_while_it_loads(terminal: Terminal) -> None:
    terminal.seen("PyTorch를 불러오는 중이에요")
    terminal.press("ㅂ")
    assert terminal.process.wait(timeout=30) == 0


def test_ctrl_c_ends_it_and_leaves_the_terminal_as_it_was(file: Path, terminal: Terminal) -> None:
    import termios

    terminal.until("(train_step_extras)")
    assert not termios.tcgetattr(terminal._ours)[3] & termios.ECHO
    terminal.process.send_signal(signal.SIGINT)
    assert terminal.process.wait(timeout=30) == 130
    assert termios.tcgetattr(terminal._ours)[3] & termios.ECHO


def test_a_function_of_another_name_is_watched(tmp_path: Path) -> None:
    """As `grader check --as` does."""
    file = tmp_path / "hw.py"
    file.write_text(HEAD + STEP.replace("def train_step(", "def trainStep("), encoding="utf-8")
    console = Console(record=True, width=120, file=StringIO())
    watch = Watch(file, COURSE, console, {"trainStep": "train_step"})
    watch.look()
    assert "통과했어요" in console.export_text()


def test_the_next_problem_of_one_that_does_not_pass_is_no_praise(tmp_path: Path) -> None:
    """`n` while the only problem was being checked said that all had passed, and that this one is left."""
    file = tmp_path / "hw.py"
    file.write_text(HEAD + STEP.replace("    opt.zero_grad()\n", ""), encoding="utf-8")
    console = Console(record=True, width=120, file=StringIO())
    watch = Watch(file, COURSE, console)
    watch.look()
    watch._feedback = None  # as the key leaves it that has ended the check
    console.export_text()
    watch.press("n")
    said = console.export_text()
    assert "남은 문제는 이것뿐이에요" in said
    assert "모두 통과했어요" not in said
    assert "(train_step)" in said


def test_n_after_the_last_problem_of_the_only_file_says_so(tmp_path: Path) -> None:
    file = tmp_path / "hw.py"
    file.write_text(HEAD + STEP, encoding="utf-8")
    console = Console(record=True, width=120, file=StringIO())
    watch = Watch(file, COURSE, console)
    watch.look()
    watch.press("n")
    assert watch.following is None
    assert "이어지는 파일이 없어요" in console.export_text()


def test_the_other_mistakes_are_one_key_away(tmp_path: Path) -> None:
    file = tmp_path / "hw.py"
    two = STEP.replace("    opt.zero_grad()\n", "").replace(".item()", "")
    file.write_text(HEAD + two, encoding="utf-8")
    console = Console(record=True, width=120, file=StringIO())
    watch = Watch(file, COURSE, console)
    watch.look()
    first = console.export_text()
    assert "하나씩 고쳐요" in first
    watch.press("d")
    assert "  2." in console.export_text()


def test_what_is_asked_is_one_key_away(tmp_path: Path) -> None:
    file = tmp_path / "hw.py"
    file.write_text(HEAD + STEP.replace("    opt.zero_grad()\n", ""), encoding="utf-8")
    console = Console(record=True, width=120, file=StringIO())
    watch = Watch(file, COURSE, console)
    watch.look()
    console.export_text()
    watch.press("t")
    said = " ".join(console.export_text().split())
    promises = COURSE.exercise("train_step").promises
    assert all(promise.says in said for promise in promises)
    assert "def train_step(" in said
    assert "loss.backward()" not in said.rpartition("def train_step(")[2]


def test_after_the_last_problem_of_a_file_the_next_file_is_named(tmp_path: Path) -> None:
    passed = {e.name for e in COURSE.lessons[0].exercises} - {"train_step"}
    for name in passed - {"train_step_extras"}:
        Progress.load().record_check(name, passed=True)
    place = COURSE.lessons[0].part_of("train_step_extras").place
    (tmp_path / place).parent.mkdir()
    (tmp_path / place).write_text("{}", encoding="utf-8")
    file = tmp_path / Path(place).parent / "hw.py"
    file.write_text(HEAD + STEP, encoding="utf-8")
    console = Console(record=True, width=200, file=StringIO())
    watch = Watch(file, COURSE, console)
    watch.look()
    assert f"grader watch {tmp_path / place}" in console.export_text()
    watch.press("n")
    assert watch.following == tmp_path / place
    (tmp_path / place).write_bytes(b"")
    assert _content(tmp_path / place) is None, (
        "a file that an editor has emptied, and will write, is not read"
    )


def test_a_warm_up_in_which_nothing_is_written_is_no_success(tmp_path: Path) -> None:
    """The untouched notebook of a warm-up was congratulated: 0 of 0 had passed."""
    part = next(p for p in COURSE.parts if p.name == "3_why_accumulation_works")
    file = tmp_path / part.notebook.name
    file.write_bytes(part.notebook.read_bytes())
    console = Console(record=True, width=120, file=StringIO())
    watch = Watch(file, COURSE, console)
    watch.look()
    said = console.export_text()
    assert "1문제 가운데 0문제 통과" in said
    assert "모두 통과했어요" not in said
    assert "아직 쓰지 않은 것: add_gradient" in said
    assert "t 문제" in watch._keys()
    for key, told in (("t", "def add_gradient("), ("h", "힌트 1/")):
        watch.press(key)
        assert told in console.export_text()
