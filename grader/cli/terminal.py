"""Shared by all commands: print to the terminal, and choose the device."""

import importlib.util
import os
import runpy
import sys
from importlib.abc import MetaPathFinder
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.console import Console

from grader.base.errors import CommandError

if TYPE_CHECKING:
    from rich.syntax import Syntax

out = Console()
err = Console(stderr=True)


def code_of(source: str, *, start: int = 1) -> "Syntax":
    """Return source code in colours that can be read on light and dark terminals alike; line numbers begin at `start`.

    Rich's themes are made for one of the two: on the other, names are of the ground's colour. Here all that is not
    listed has the terminal's own colour.
    """
    from pygments.token import Comment, Keyword, Name, Number, Operator, String
    from rich.style import Style
    from rich.syntax import ANSISyntaxTheme, Syntax

    theme = ANSISyntaxTheme(
        {
            Comment: Style(dim=True),
            Keyword: Style(color="magenta"),
            Operator.Word: Style(color="magenta"),
            Name.Builtin: Style(color="cyan"),
            Name.Function: Style(bold=True),
            Name.Class: Style(bold=True),
            Number: Style(color="cyan"),
            String: Style(color="green"),
        }
    )
    return Syntax(source, "python", theme=theme, line_numbers=True, start_line=start, word_wrap=True)


def say(line: str) -> None:
    """Print a line unchanged; plain `rich` would interpret parts of a path as markup, or wrap a long line."""
    out.print(line, markup=False, highlight=False, soft_wrap=True)


def complain(line: str) -> None:
    """Print a line unchanged to stderr, as `say` does to stdout."""
    err.print(line, markup=False, highlight=False, soft_wrap=True)


def say_when_slow() -> None:
    """On a terminal, say that the command is starting as soon as it imports torch, which takes seconds."""
    if out.is_terminal and "torch" not in sys.modules:
        sys.meta_path.insert(0, _TorchNoticed())


class _TorchNoticed(MetaPathFinder):
    """Finds no module; prints a line when torch is looked for the first time."""

    def find_spec(self, name: str, path: Any, target: Any = None) -> None:
        if name == "torch" and self in sys.meta_path:
            sys.meta_path.remove(self)
            out.print("준비하고 있어요…", style="dim")


def device(wanted: str) -> str:
    """Return the device to use, `cpu` or `cuda`; `auto` becomes one of the two.

    With `cpu`, this process and all that it starts see no GPU, so that they behave as on a machine without one.

    Raises:
        CommandError: the device does not exist, or not on this machine.
    """
    if wanted not in ("auto", "cpu", "cuda"):
        raise CommandError(f"--device에는 auto, cpu, cuda 가운데 하나를 주세요. 받은 값: '{wanted}'")
    there = wanted != "cpu" and _has_cuda()
    if wanted == "cuda" and not there:
        raise CommandError("CUDA를 쓸 수 없어요. `grader doctor`로 확인하거나 --device cpu로 채점해 주세요.")
    if not there:
        os.environ["CUDA_VISIBLE_DEVICES"] = ""
    return "cuda" if there else "cpu"


def _has_cuda() -> bool:
    """Return True if torch finds a GPU. A torch build without GPU support is recognised without importing it."""
    found = importlib.util.find_spec("torch")
    if found is not None and found.origin is not None:
        built = runpy.run_path(str(Path(found.origin).with_name("version.py")))
        if built.get("cuda") is None and built.get("hip") is None:
            return False
    import torch

    return torch.cuda.is_available()
