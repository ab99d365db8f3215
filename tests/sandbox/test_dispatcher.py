"""Torch's operators keep their kernels, and what a right program adds of its own is no harm."""

import subprocess
import sys
from collections.abc import Callable

import pytest
import torch
from torch.utils._python_dispatch import TorchDispatchMode

from grader.sandbox.inside.dispatcher import DispatchState
from grader.sandbox.sandbox import Sandbox
from tests.places import ROOT
from tests.sandbox.neighbour import NEIGHBOUR, ONE_PROCESS, content, run

OWN = """
import torch
from torch import library


class Square(torch.autograd.Function):
    @staticmethod
    def forward(ctx, value):
        ctx.save_for_backward(value)
        return value.pow(2)

    @staticmethod
    def backward(ctx, gradient):
        (value,) = ctx.saved_tensors
        return 2 * value * gradient


class Named(torch.Tensor):
    pass


@library.custom_op("own::same", mutates_args=())
def same(value: torch.Tensor) -> torch.Tensor:
    return value.clone()


@same.register_fake
def _(value):
    return torch.empty_like(value)


same.register_autograd(lambda ctx, gradient: gradient)


def first(model, opt, xb):
    opt.zero_grad()
    with torch.autograd.graph.saved_tensors_hooks(lambda tensor: tensor, lambda tensor: tensor):
        loss = Square.apply(same(model(xb.as_subclass(Named)))).mean()
    loss.backward()
    opt.step()
    return loss.as_subclass(torch.Tensor).item()
"""


@pytest.mark.parametrize(
    "place", [pytest.param("sandbox", marks=[pytest.mark.sandbox, ONE_PROCESS]), "unisolated"]
)
def test_functions_operators_and_classes_of_ones_own_are_right(
    request: pytest.FixtureRequest, undisturbed: list[object], place: str
) -> None:
    sandbox: Sandbox = request.getfixturevalue(place)
    first, second = run(sandbox, NEIGHBOUR)[0], run(sandbox, OWN)[0]
    assert second.status == "ran"
    assert second.trace is not None
    assert second.trace.load_failure is None
    assert content(second.trace, lines=False) == content(first.trace, lines=False)


_STARTS_CUDA_IN_A_CHILD = """
import importlib.util
import torch

find = importlib.util.find_spec
importlib.util.find_spec = lambda name, *rest: find("torch" if name == "triton" else name, *rest)
from grader.sandbox.inside import server
from grader.sandbox.inside.protocol import ServerSettings

server._warm(ServerSettings(preimports=(), device="cuda", isolate=False, visible_folders=()))
torch.cuda._register_triton_kernels()  # as torch does when CUDA starts
print([name for name, _ in torch._TritonLibrary.ops_table])
try:
    torch._TritonLibrary.lib.impl("triton::_triton_bsr_dense_mm_out", lambda: None, "SparseCsrCPU")
except RuntimeError as error:
    print(type(error).__name__)
"""


def test_what_torch_registers_when_cuda_starts_has_been_registered_before() -> None:
    """On a real GPU with Triton it was refused, so no child began, and `--device cuda` graded nobody."""
    shown = subprocess.run(
        [sys.executable, "-c", _STARTS_CUDA_IN_A_CHILD],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    ).stdout.splitlines()
    assert shown == ["['_triton_bsr_dense_mm_out', '_triton_bsr_dense_addmm_out']", "RuntimeError"]


class Seeing(TorchDispatchMode):
    pass


def python_dispatcher() -> object:
    guard = torch._C._EnablePythonDispatcher()
    guard.__enter__()
    return guard


def hooks_for_saved_tensors() -> None:
    torch.autograd.graph.saved_tensors_hooks(lambda tensor: tensor * 0, lambda tensor: tensor).__enter__()


@pytest.mark.parametrize(
    ("left_on", "name"),
    [
        (lambda: Seeing().__enter__(), "Seeing"),  # type: ignore[no-untyped-call]
        (hooks_for_saved_tensors, "saved_tensors_hooks"),
        (python_dispatcher, "PythonDispatcher"),
    ],
)
def test_what_was_not_left_is_left_and_named(left_on: Callable[[], object], name: str) -> None:
    dispatching = DispatchState()
    kept = left_on()
    assert dispatching.restore() == [name]
    weight = torch.ones(2, requires_grad=True)
    (weight * weight).sum().backward()
    assert weight.grad is not None
    assert weight.grad.tolist() == [2, 2]
    assert dispatching.restore() == []
    del kept
