"""Shared by all commands: print to the terminal, and choose the device."""

import importlib.util
import os
import runpy
from pathlib import Path

from rich.console import Console

from grader.base.errors import CommandError

out = Console()
err = Console(stderr=True)


def say(line: str) -> None:
    """Print a line unchanged; plain `rich` would interpret parts of a path as markup, or wrap a long line."""
    out.print(line, markup=False, highlight=False, soft_wrap=True)


def complain(line: str) -> None:
    """Print a line unchanged to stderr, as `say` does to stdout."""
    err.print(line, markup=False, highlight=False, soft_wrap=True)


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
