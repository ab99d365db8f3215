"""Which device a command computes on, and what its process sees of the others."""

import inspect
import os

import pytest
import torch

from grader.base.errors import CommandError
from grader.cli import terminal
from grader.cli.grade import grade
from grader.cli.learner import check


@pytest.mark.parametrize("command", [grade, check])
def test_points_do_not_depend_on_the_machine(command: object) -> None:
    """The CPU unless another device is asked for: a program may be right on one device and raise on the other."""
    assert inspect.signature(command).parameters["device"].default == "cpu"  # type: ignore[arg-type]


def test_on_the_cpu_a_process_sees_no_gpu(monkeypatch: pytest.MonkeyPatch) -> None:
    """Or its first backward pass, on the CPU too, would start threads that no fork of it has."""
    monkeypatch.setattr(terminal, "_has_cuda", lambda: True)
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
    assert terminal.device("auto") == "cuda"
    assert "CUDA_VISIBLE_DEVICES" not in os.environ
    assert terminal.device("cpu") == "cpu"
    assert os.environ["CUDA_VISIBLE_DEVICES"] == ""


def test_auto_takes_a_gpu_only_where_there_is_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(terminal, "_has_cuda", lambda: False)
    assert terminal.device("auto") == "cpu"
    with pytest.raises(CommandError, match="--device cpu"):
        terminal.device("cuda")
    with pytest.raises(CommandError, match="'tpu'"):
        terminal.device("tpu")


def test_the_build_of_torch_tells_whether_to_look() -> None:
    if torch.version.cuda is None and torch.version.hip is None and not torch.cuda.is_available():
        assert not terminal._has_cuda()
