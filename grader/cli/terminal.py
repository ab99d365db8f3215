"""What all commands share: where they print, and which device they were asked for."""

import importlib.util
import os
import runpy
from pathlib import Path

from rich.console import Console

from grader.base.errors import CommandError

out = Console()
err = Console(stderr=True)


def say(line: str) -> None:
    """Print a line unchanged: rich would take parts of a path for markup, or break a long one."""
    out.print(line, markup=False, highlight=False, soft_wrap=True)


def complain(line: str) -> None:
    """Print a line unchanged, as `say` does, to stderr."""
    err.print(line, markup=False, highlight=False, soft_wrap=True)


def device(wanted: str) -> str:
    """The device to use: `cpu` or `cuda`. `auto` becomes one of the two.

    With `cpu`, this process and all that it starts see no GPU: then they do what they do on a machine without one.

    Raises:
        CommandError: there is no such device, or not here.
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
    """Whether torch finds a GPU; a build of torch that has none is not imported in order to say so."""
    found = importlib.util.find_spec("torch")
    if found is not None and found.origin is not None:
        built = runpy.run_path(str(Path(found.origin).with_name("version.py")))
        if built.get("cuda") is None and built.get("hip") is None:
            return False
    import torch

    return torch.cuda.is_available()
