"""Sentences about a mistake stay true beside mistakes that undo what it does, or do it once more."""

import contextlib
import io

import pytest

from grader.course.feedback import Feedback
from grader.course.reading import load_course
from grader.grading import SEED
from grader.judging.assess import assess
from grader.judging.learner_code import LearnerCode
from grader.judging.reference import cached_reference
from grader.observe.play import play
from grader.observe.program import load_program
from grader.report.text import feedback_text

CLEARS_BEFORE_STEP = """\
def train_step(model, opt, loss_fn, xb, yb):
    loss = loss_fn(model(xb), yb)
    loss.backward()
    opt.zero_grad()
    opt.step()
    return loss
"""
NEEDS_BATCH_SIZE = """\
def fit(model, opt, loss_fn, loader, epochs, *, zero_grad=True):
    history = []
    for epoch in range(epochs):
        model.train()
        total = 0.0
        for xb, yb in loader:
            loss = loss_fn(model(xb), yb)
            loss.backward()
            opt.step()
            if zero_grad:
                opt.zero_grad()
            total += loss.item() * len(xb)
        history.append(total / (len(loader) * loader.batch_size))
    return history
"""
RESTORES_AFTER_STEP = """\
import torch
class SAM(torch.optim.Optimizer):
    def __init__(self, params, base_optimizer, rho=0.05, adaptive=False, **kwargs):
        if rho < 0:
            raise ValueError("rho")
        super().__init__(params, dict(rho=rho, adaptive=adaptive, **kwargs))
        self.base_optimizer = base_optimizer(self.param_groups, **kwargs)
        self.param_groups = self.base_optimizer.param_groups

    def _params(self):
        return [(g, p) for g in self.param_groups for p in g["params"] if p.grad is not None]

    @torch.no_grad()
    def first_step(self, zero_grad=False):
        pairs = self._params()
        if not pairs:
            return
        norm = torch.stack([(p.abs() * p.grad if g["adaptive"] else p.grad).norm() for g, p in pairs]).norm()
        for g, p in pairs:
            self.state[p]["w"] = p.detach().clone()
            p.add_(g["rho"] * (p ** 2 if g["adaptive"] else 1.0) * p.grad / norm)
        if zero_grad:
            self.zero_grad()

    @torch.no_grad()
    def second_step(self, zero_grad=False):
        self.base_optimizer.step()
        for g, p in self._params():
            p.copy_(self.state[p]["w"])
        if zero_grad:
            self.zero_grad()
"""


def told(exercise: str, text: str) -> Feedback:
    """What a learner reads of this program."""
    its = load_course().exercise(exercise)
    with contextlib.redirect_stdout(io.StringIO()):
        trace = play(its.driver, load_program(text), seed=SEED)
    return assess(its, trace, cached_reference(exercise, SEED), LearnerCode(text))


@pytest.mark.parametrize(
    ("exercise", "text", "mistake", "false"),
    [
        ("train_step", CLEARS_BEFORE_STEP, "returns-tensor", "값은 맞지만"),
        ("fit", NEEDS_BATCH_SIZE, "needs-dataset", "`loader.dataset`"),
        ("SAM", RESTORES_AFTER_STEP, "nan-on-zero-gradient", "되돌아오지 않아요"),
        ("SAM", RESTORES_AFTER_STEP, "nan-on-zero-gradient", "하나도 실행하지 않았어요"),
        ("SAM", RESTORES_AFTER_STEP, "nan-on-zero-gradient", "나올 수 없는 부분"),
    ],
    ids=["value", "dataset", "nan", "no-step", "residual"],
)
def test_what_the_other_mistake_makes_false_is_left_out(
    exercise: str, text: str, mistake: str, false: str
) -> None:
    feedback = told(exercise, text)
    assert mistake in feedback.mistake_ids
    assert false not in " ".join(feedback_text(feedback).split())


@pytest.mark.parametrize("exercise", ["amp_step", "amp_accumulate", "train"])
def test_no_title_denies_a_call_that_may_stand_beside_it(exercise: str) -> None:
    """`opt.step()` after `scaler.step(opt)` has the results of `opt.step()` instead of it."""
    mistakes = {mistake.id: mistake for mistake in load_course().exercise(exercise).mistakes}
    assert "대신" not in mistakes["step-without-scaler"].title


@pytest.mark.parametrize("exercise", ["train", "train_accelerate"])
def test_a_mode_left_after_the_last_epoch_need_not_last_through_an_epoch(exercise: str) -> None:
    """A loop may call `train()` at the start of each epoch and still leave the model in eval mode."""
    mistakes = {mistake.id: mistake for mistake in load_course().exercise(exercise).mistakes}
    assert "다음 에폭을 학습하고" not in mistakes["leaves-eval-mode"].explain
