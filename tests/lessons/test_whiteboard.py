"""The ungraded tasks of lesson 02: the order of a float16 step's lines, and the step written from memory."""

from itertools import permutations

import torch
from torch.nn.utils import clip_grad_norm_

from grader.experiments.loop_anatomy.digits import device
from grader.experiments.loop_anatomy.whiteboard import grade_amp, grade_order


def test_clearing_may_come_anywhere_before_the_backward_pass() -> None:
    right = {"".join(one) for one in permutations("ABCDEFGH") if "제자리" in grade_order("".join(one))}
    assert right == {"BEGAFDHC", "EBGAFDHC", "BEGAFDCH", "EBGAFDCH"}


def test_what_is_wrong_is_said() -> None:
    assert "비어" in grade_order(" ")
    assert "한 번씩" in grade_order("ABC")
    assert "65536배" in grade_order("BEGFADHC")
    assert "제자리" in grade_order("b e g a f d h c")


def test_a_step_from_memory_is_compared_with_one_by_hand() -> None:
    def step(model, opt, scaler, scheduler, loss_fn, xb, yb, max_norm, *, clear=True):  # type: ignore[no-untyped-def]
        if clear:
            opt.zero_grad()
        with torch.autocast(device.type, torch.float16):
            loss = loss_fn(model(xb), yb)
        scaler.scale(loss).backward()
        scaler.unscale_(opt)
        clip_grad_norm_(model.parameters(), max_norm)
        scaler.step(opt)
        scaler.update()
        scheduler.step()

    assert "제자리" in grade_amp(step)
    assert "제자리" not in grade_amp(lambda *given: step(*given, clear=False))
    assert "비어" in grade_amp(lambda *given: None)
