"""Whole training scripts that the learner mends: brought into the notebook's folder, run, and watched by xray."""

import contextlib
import io
import os
import runpy
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import torch

from grader import paths

FOLDER = Path("scripts")
"""Where the learner mends them: beside the notebook."""


def bring(name: str) -> Path:
    """Copy a broken script beside the notebook and return its path; one that is there already is kept."""
    script = FOLDER / f"{name}.py"
    if not script.exists():
        script.parent.mkdir(exist_ok=True)
        shutil.copyfile(paths.asset_path("broken_scripts", script.name), script)
    return script


def numbered(script: Path) -> str:
    """Return the script's text with the number of each line, as xray names them."""
    lines = script.read_text(encoding="utf-8").splitlines()
    return "\n".join(f"{number:2} │ {line}" for number, line in enumerate(lines, start=1))


def original(name: str) -> str:
    """Return the text of a script as it was handed out, whatever the learner has done to the copy."""
    return paths.asset_path("broken_scripts", f"{name}.py").read_text(encoding="utf-8")


def changed(text: str, old: str, new: str) -> str:
    """Return the text with one piece changed.

    Raises:
        ValueError: the piece does not stand in the text exactly once.
    """
    if text.count(old) != 1:
        raise ValueError(f"{text.count(old)}번 나옵니다: {old}")
    return text.replace(old, new)


def printed_by(text: str, seed: int = 0) -> str:
    """Return what the script prints, run in this process: importing torch anew would take seconds.

    An exception that ends the script is the last line. The random state of this process stays as it was.
    """
    out, arguments = io.StringIO(), sys.argv
    with tempfile.TemporaryDirectory() as folder, torch.random.fork_rng():
        script = Path(folder) / "train.py"
        script.write_text(text, encoding="utf-8")
        try:
            sys.argv = [str(script), str(seed)]
            with contextlib.redirect_stdout(out):
                runpy.run_path(str(script), run_name="__main__")
        except Exception as error:
            print(f"{type(error).__name__}: {str(error).splitlines()[0]}", file=out)
        finally:
            sys.argv = arguments
    return out.getvalue().rstrip()


def result_in(printed: str) -> float | str:
    """Return the number that a script printed last, or the exception that ended it."""
    last = printed.splitlines()[-1]
    return float(last.removeprefix("결과 ")) if last.startswith("결과 ") else last


def result_of(text: str, seed: int = 0) -> float | str:
    """Run the script and return its result (`result_in`)."""
    return result_in(printed_by(text, seed))


def xray(script: Path) -> str:
    """Return the card that `grader xray SCRIPT` prints, without what the script itself prints."""
    command = [sys.executable, "-m", "grader", "xray", str(script)]
    # A notebook's kernel asks every program for colours; the card is printed as plain text. Models so small are many
    # times slower with several threads when the machine is busy.
    environment = {name: value for name, value in os.environ.items() if "COLOR" not in name}
    environment |= {"PYTHONIOENCODING": "utf-8", "COLUMNS": "90", "TERM": "dumb", "OMP_NUM_THREADS": "1"}
    done = subprocess.run(command, check=False, capture_output=True, encoding="utf-8", env=environment)
    begin, end = done.stderr.find("╭"), done.stderr.rfind("╯")
    return done.stderr[begin : end + 1] if begin >= 0 else done.stderr
