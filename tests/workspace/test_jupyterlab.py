"""What a learner reads in the terminal of `grader start`."""

import logging
import subprocess
import sys
from pathlib import Path

import pytest

from grader.grading.in_process import SECONDS
from grader.workspace.jupyterlab import TERMINAL, in_korean, is_worth_telling
from tests.places import ROOT

EXTENSION = ROOT / "assets" / "jupyterlab" / "labextensions" / "hanstep-lessons"
WITH = {"%r": Exception("no browser"), "%s": 15}


@pytest.mark.parametrize("theirs", TERMINAL)
def test_a_line_takes_what_jupyter_puts_in(theirs: str) -> None:
    """Jupyter fills its places into our line; one place more or less would be an error at the worst moment."""
    places = [WITH[part] for part in ("%r", "%s", "%s") if part in theirs][: theirs.count("%")]
    told = in_korean(str.upper)(theirs)
    told = told % tuple(places) if places else told
    assert "Error" not in told
    assert "no browser" not in told
    assert any("가" <= letter <= "힣" for letter in told)


def test_a_check_that_runs_long_says_when_it_stops() -> None:
    assert f"{SECONDS:.0f}초 뒤에 저절로 멈춰요." in (EXTENSION / "lessons.css").read_text(encoding="utf-8")


def test_jupyter_still_says_these_lines() -> None:
    """A new version that words them otherwise would bring English back unseen."""
    import jupyter_server.serverapp as server

    source = Path(server.__file__).read_text(encoding="utf-8")
    assert [line for line in TERMINAL if line not in source] == []
    assert callable(server._i18n)


def test_other_lines_are_left_to_jupyter() -> None:
    assert in_korean(str.upper)("The port 8888 is already in use.") == "THE PORT 8888 IS ALREADY IN USE."


@pytest.mark.parametrize(
    ("line", "told"),
    [("Notebook %s is not trusted", False), ("Kernel died: %s", True)],
    ids=("nothing", "real"),
)
def test_only_real_trouble_is_told(line: str, told: bool) -> None:
    record = logging.LogRecord("ServerApp", logging.WARNING, "", 0, line, ("01.ipynb",), None)
    assert is_worth_telling(record) is told


@pytest.mark.skipif(sys.platform == "win32", reason="no such signal")
def test_ctrl_c_while_it_still_starts_ends_it_without_a_word(tmp_path: Path) -> None:
    """Imports take seconds; a traceback would be the first that a newcomer sees."""
    code = (
        "import runpy, signal\n"
        "signal.signal(signal.SIGALRM, signal.default_int_handler)\n"
        "signal.setitimer(signal.ITIMER_REAL, 0.3)\n"
        "runpy.run_module('grader.workspace.jupyterlab', run_name='__main__')\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], check=False, capture_output=True, text=True, cwd=tmp_path, timeout=60
    )
    assert (done.returncode, done.stdout, done.stderr) == (130, "", "")
