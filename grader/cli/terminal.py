"""Shared by all commands: print to the terminal, and choose the device."""

import importlib.util
import os
import runpy
import sys
from importlib.abc import MetaPathFinder
from pathlib import Path
from typing import Any

from rich.console import Console

from grader.base.errors import CommandError

out = Console()
err = Console(stderr=True)


def say(line: str) -> None:
    """Print a line, its code in a colour; plain `rich` would take parts of a path for markup, or wrap a long line."""
    _print(out, line)


def complain(line: str) -> None:
    """Print a line to stderr, as `say` does to stdout."""
    _print(err, line)


def _print(console: Console, line: str) -> None:
    if "`" in line and console.color_system is not None:
        from grader.report.terminal_text import Prose

        console.print(Prose(line).on(console), highlight=False, soft_wrap=True)
    else:
        console.print(line, markup=False, highlight=False, soft_wrap=True)


def say_when_slow() -> None:
    """On a terminal, say that the command is starting as soon as it imports torch, which takes seconds."""
    if out.is_terminal and "torch" not in sys.modules:
        sys.meta_path.insert(0, _TorchNoticed())


def say_nothing_when_slow() -> None:
    """Undo `say_when_slow`, for a command that says itself what it waits for."""
    sys.meta_path[:] = [finder for finder in sys.meta_path if not isinstance(finder, _TorchNoticed)]


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
