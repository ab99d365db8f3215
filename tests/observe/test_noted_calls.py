"""Clipping is noted however a submission does it: with torch's function, or with the one it wrote in lesson 03."""

import pytest
import torch

from grader.observe.noted_calls import noted_calls
from grader.observe.program import load_program

OWN = """
import torch
from torch.nn.utils import clip_grad_norm_

def clip_global_norm(params, max_norm):
    {body}

def train(params):
    clip_global_norm(params, 1.0)
"""


@pytest.mark.parametrize(
    "body",
    ["for p in params:\n        p.grad.mul_(0.5)", "return clip_grad_norm_(params, max_norm)"],
    ids=["by hand", "around torch's"],
)
def test_ones_own_clipping_is_noted_once(body: str) -> None:
    names = load_program(OWN.format(body=body)).names
    own, parameter, noted = names["clip_global_norm"], torch.ones(2, requires_grad=True), list[str]()
    parameter.grad = torch.ones(2)
    with noted_calls(names["train"], lambda kind, _: noted.append(kind)):
        names["train"]([parameter])
    assert noted == ["clip"]
    assert names["clip_global_norm"] is own


def test_the_exercise_itself_is_no_clip() -> None:
    """What it does inside is what it does: a call of torch's function in it is one."""
    names = load_program(OWN.format(body="return clip_grad_norm_(params, max_norm)")).names
    parameter, noted = torch.ones(2, requires_grad=True), list[str]()
    parameter.grad = torch.ones(2)
    with noted_calls(names["clip_global_norm"], lambda kind, _: noted.append(kind)):
        names["clip_global_norm"]([parameter], 1.0)
    assert noted == ["clip"]
