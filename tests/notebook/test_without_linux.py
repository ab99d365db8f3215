"""Learning on Windows and macOS, as far as Linux can play them: without the modules and calls that only it has.

Each test runs in a process of its own. What others need of the missing (torch, IPython) is imported before.
"""

import subprocess
import sys
from pathlib import Path

import pytest

from tests.observe.five_lines import RIGHT
from tests.places import ROOT

IMPORTED = """
import asyncio, multiprocessing, os, selectors, shutil, signal, sqlite3, socket, subprocess, sys, tempfile
import torch, torch._dynamo, numpy, matplotlib.pyplot, IPython, ipywidgets, msgspec, platformdirs, rich.console, typer
import sklearn.datasets, watchfiles
"""

WINDOWS = (
    IMPORTED
    + """
ABSENT = {"fcntl", "resource", "pwd", "grp", "termios", "tty", "pty", "syslog", "readline", "curses"}

class Absent:
    def find_spec(self, name, path=None, target=None):
        if name in ABSENT:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)

for name in ABSENT:
    sys.modules.pop(name, None)
sys.meta_path.insert(0, Absent())
for module, names in {
    os: "fork killpg setsid getuid geteuid getppid sched_getaffinity O_DIRECTORY O_NOFOLLOW O_NONBLOCK O_CLOEXEC",
    signal: "SIGALRM SIGPROF SIGKILL SIGIO SIGXCPU SIGHUP setitimer siginterrupt ITIMER_REAL ITIMER_PROF",
    socket: "AF_UNIX send_fds recv_fds",
}.items():
    for name in names.split():
        vars(module).pop(name, None)
os.supports_dir_fd = set()
sys.platform = "win32"
"""
)

MACOS = (
    IMPORTED
    + """
import fcntl
del os.sched_getaffinity, fcntl.F_SETSIG
sys.platform = "darwin"
"""
)

SYSTEMS = [
    pytest.param(WINDOWS, id="windows"),
    pytest.param(MACOS, id="macos", marks=pytest.mark.full),
]

FORGOTTEN = RIGHT.replace("    opt.zero_grad()\n", "")
ENDLESS = "def train_step(model, opt, loss_fn, xb, yb):\n    while True:\n        print('x')\n"
BROKEN = "# %% tags=['exercise:train_step']\ndef train_step(model:\n"


def run(tmp_path: Path, system: str, code: str, encoding: str = "utf-8") -> subprocess.CompletedProcess[str]:
    """A program after the system's missing parts were taken away; the data folder is its own."""
    return subprocess.run(
        [sys.executable, "-c", system + code],
        cwd=tmp_path,
        env={
            "PATH": "/usr/bin:/bin", "PYTHONPATH": str(ROOT), "HANSTEP_HOME": str(tmp_path / "home"),
            "OMP_NUM_THREADS": "1", "COLUMNS": "200",
            "PYTHONUTF8": "0", "PYTHONIOENCODING": encoding, "LC_ALL": "C.UTF-8",
        },
        capture_output=True, encoding=encoding, check=False, timeout=300,
    )  # fmt: skip


def command(*arguments: str) -> str:
    return f"from grader.cli.main import main\nsys.argv = {['grader', *arguments]!r}\nmain()\n"


@pytest.mark.parametrize("system", SYSTEMS)
def test_what_learners_use_can_be_imported(tmp_path: Path, system: str) -> None:
    code = """
import importlib, grader
for name in grader.__all__:
    getattr(grader, name)
for name in ("learner", "clinic", "drill", "progress", "terminal", "main"):
    importlib.import_module(f"grader.cli.{name}")
for name in ("grading.own_file", "notebook.watch", "notebook.terminal_keys", "workspace.start", "workspace.update",
             "learner.store", "learner.exchange", "learner.overview", "notebook.microscope"):
    importlib.import_module(f"grader.{name}")
"""
    done = run(tmp_path, system, code)
    assert done.returncode == 0, done.stderr


@pytest.mark.full
@pytest.mark.parametrize("system", SYSTEMS)
@pytest.mark.parametrize(
    ("source", "exit_code", "said"),
    [
        pytest.param(RIGHT, 0, "통과했어요", id="right"),
        pytest.param(FORGOTTEN, 1, "zero_grad", id="forgotten"),
        pytest.param(BROKEN, 1, "2번째 줄", id="broken"),
    ],
)
def test_a_file_is_checked(tmp_path: Path, system: str, source: str, exit_code: int, said: str) -> None:
    (tmp_path / "mine.py").write_text(source, encoding="utf-8")
    done = run(tmp_path, system, command("check", "mine.py"))
    assert done.returncode == exit_code, done.stdout + done.stderr
    assert said in done.stdout
    assert "Traceback" not in done.stderr


def test_a_pipe_that_cannot_show_every_sign_shows_the_rest(tmp_path: Path) -> None:
    """Redirected into a file on Korean Windows: cp949 has Hangul, and no subscripts."""
    (tmp_path / "mine.py").write_text(FORGOTTEN, encoding="utf-8")
    done = run(tmp_path, WINDOWS, command("check", "mine.py"), encoding="cp949")
    assert done.returncode == 1, done.stderr
    assert "zero_grad" in done.stdout
    assert "?" in done.stdout


@pytest.mark.full
def test_an_endless_loop_is_stopped_and_what_it_prints_is_not_shown(tmp_path: Path) -> None:
    code = f"""
from pathlib import Path
from grader.course.reading import load_course
from grader.grading import in_process
from grader.grading.own_file import OwnFile
Path("mine.py").write_text({ENDLESS!r}, encoding="utf-8")
course = load_course()
own = OwnFile(Path("mine.py"), course)
(told,) = in_process.check_here(
    own.submission.source_for("train_step"), own.exercises, seed=1, device="cpu", seconds=0.5
)
print(told.status)
"""
    done = run(tmp_path, WINDOWS, code)
    assert done.stdout.split() == ["timeout"], done.stdout[:300] + done.stderr


def test_a_notebooks_functions_work(tmp_path: Path) -> None:
    """`check` names the mistake, `microscope` shows the steps, `clinic` and `drill` begin, and progress is kept."""
    (tmp_path / "right.py").write_text(RIGHT, encoding="utf-8")
    (tmp_path / "wrong.py").write_text(FORGOTTEN, encoding="utf-8")
    code = """
from grader import check, clinic, drill, hint, microscope, predict, progress
from right import train_step
from wrong import train_step as wrong
for shown in (check(wrong), check(train_step), microscope(train_step), drill("train_step"), clinic(), progress()):
    print(shown)
hint("train_step"); predict("01-3", "b")
"""
    done = run(tmp_path, WINDOWS + "sys.path.insert(0, '.')\n", code)
    assert done.returncode == 0, done.stdout + done.stderr
    for said in ("zero_grad", "통과했어요", "현미경", "시계가 가고"):
        assert said in done.stdout
    assert (tmp_path / "home" / "progress.sqlite3").is_file()


@pytest.mark.full
@pytest.mark.parametrize(
    "arguments", [("progress",), ("hint", "train_step"), ("doctor",)], ids=lambda a: a[0]
)
def test_other_commands_run(tmp_path: Path, arguments: tuple[str, ...]) -> None:
    done = run(tmp_path, WINDOWS, command(*arguments))
    assert "Traceback" not in done.stdout + done.stderr, done.stderr
    assert done.stdout


@pytest.mark.full
def test_a_class_is_refused_with_a_reason(tmp_path: Path) -> None:
    (tmp_path / "class").mkdir()
    (tmp_path / "class" / "s01.py").write_text(RIGHT, encoding="utf-8")
    done = run(tmp_path, WINDOWS, command("grade", "class", "--out", "report"))
    assert done.returncode != 0
    assert "Traceback" not in done.stdout + done.stderr, done.stderr
    assert "Linux" in done.stdout + done.stderr
