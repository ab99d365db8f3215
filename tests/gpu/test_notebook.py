"""A notebook's `check` on a GPU machine: it finds its repairs, and does not begin CUDA to look at its random state."""

import json

import pytest

from tests.gpu.processes import said
from tests.sample_programs import sample

pytestmark = pytest.mark.cuda

UNLISTED = sample("unlisted", "train_step", "rounded").text
CHECK = """
import json, linecache, torch
from grader.course.reading import load_course
from grader.notebook.check import judge_in_kernel

name = "/tmp/ipykernel_1/1.py"
linecache.cache[name] = (len(source), None, source.splitlines(True), name)
notebook = {"__name__": "__main__", "In": ["", source]}
exec(compile(source, name, "exec"), notebook)
torch.nn.Linear(2, 1)(torch.ones(1, 2)).sum().backward()  # a cell of the lesson did
feedback = judge_in_kernel(load_course().exercise("train_step"), notebook["train_step"], device)
repair = [[step.line, step.old, step.new] for step in feedback.diagnosis.repair]
print(json.dumps([feedback.status, repair]))
"""


def checked(device: str, *, gpu: bool = True) -> tuple[str, list[list[object]]]:
    """Status and repair."""
    status, repair = json.loads(said(f"source, device = {UNLISTED!r}, {device!r}\n{CHECK}", gpu=gpu))
    return status, repair


def test_a_check_finds_its_repair_on_a_machine_with_a_gpu_too() -> None:
    """On the CPU and on the GPU; a kernel that has run a backward pass there can fork nobody who runs one."""
    without = checked("cpu", gpu=False)
    assert without[0] == "failed"
    assert without[1]
    assert checked("cpu") == without
    assert checked("cuda") == without


UNTOUCHED = """
import torch
from grader.observe.play import restored_process_state

with restored_process_state():
    torch.rand(1)
print(torch.cuda.is_initialized())
"""


def test_random_states_of_a_gpu_that_nobody_uses_are_left_alone() -> None:
    """To read one begins CUDA, which takes seconds and half a gigabyte. (In torch 2.13 an Adam step does so too.)"""
    assert said(UNTOUCHED).split() == ["False"]
