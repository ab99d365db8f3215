"""A notebook's `check` on a GPU machine: on the CPU it does not touch the GPU, and it finds its repairs."""

import json

import pytest

from tests.gpu.processes import said
from tests.places import TESTS

pytestmark = pytest.mark.cuda

UNLISTED = TESTS / "unlisted" / "train_step" / "rounded.py"
CHECK = """
import json, linecache, torch
from grader.course_files import load_course
from grader.learning.notebook import judged_here

name = "/tmp/ipykernel_1/1.py"
linecache.cache[name] = (len(source), None, source.splitlines(True), name)
notebook = {"__name__": "__main__", "In": ["", source]}
exec(compile(source, name, "exec"), notebook)
torch.nn.Linear(2, 1)(torch.ones(1, 2)).sum().backward()  # a cell of the lesson did
feedback = judged_here(load_course().exercise("train_step"), notebook["train_step"], device)
repair = [[step.line, step.old, step.new] for step in feedback.diagnosis.repair]
print(json.dumps([feedback.status, repair, torch.cuda.is_initialized()]))
"""


def checked(device: str, *, gpu: bool = True) -> tuple[str, list[list[object]], bool]:
    """Status, repair, and whether CUDA was begun."""
    source = UNLISTED.read_text(encoding="utf-8")
    status, repair, begun = json.loads(said(f"source, device = {source!r}, {device!r}\n{CHECK}", gpu=gpu))
    return status, repair, begun


def test_a_check_on_the_cpu_finds_its_repair_and_leaves_the_gpu_alone() -> None:
    status, repair, begun = checked("cpu")
    assert (status, begun) == ("failed", False)
    assert repair
    assert repair == checked("cpu", gpu=False)[1]


def test_a_check_on_the_gpu_finds_its_repair() -> None:
    status, repair, _ = checked("cuda")
    assert status == "failed"
    assert repair == checked("cpu", gpu=False)[1]
