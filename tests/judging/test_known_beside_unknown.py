"""A known mistake is told where an unknown one stands beside it, and the checks left open keep their advice."""

import contextlib
import io
import re

import pytest

from grader.course.feedback import Feedback
from grader.course.reading import load_course
from grader.grading import SEED
from grader.judging.assess import assess
from grader.judging.learner_code import LearnerCode
from grader.judging.reference import cached_reference
from grader.observe.play import play
from grader.observe.program import load_program
from grader.report import words
from grader.report.html import feedback_html
from grader.report.text import feedback_text
from tests.report.parsed import Parsed

SCALED_LOSS = """\
def fit(model, opt, loss_fn, loader, epochs, *, zero_grad=True):
    history = []
    for epoch in range(epochs):
        model.train()
        total, n = 0.0, 0
        for xb, yb in loader:
            if zero_grad:
                opt.zero_grad()
            loss = loss_fn(model(xb), yb)
            (loss * 1.01).backward()
            opt.step()
            total += loss.item()
            n += 1
        history.append(total / n)
    return history
"""
COUNTS_ONE_MORE = """\
import torch
def evaluate(model, loss_fn, loader):
    modes = [(m, m.training) for m in model.modules()]
    model.eval()
    total, correct, n = 0.0, 0, 0
    with torch.no_grad():
        for xb, yb in loader:
            out = model(xb)
            total += loss_fn(out, yb).item() * len(xb)
            correct += (out.argmax(1) == yb).sum().item() + 1
            n += len(yb)
    for m, was_training in modes:
        m.training = was_training
    return total / n, correct / n
"""
CURVED_DECAY = """\
import math
def lr_at(step, *, warmup_steps, total_steps, initial_lr, peak_lr, min_lr, decay="cosine"):
    if decay not in ("cosine", "linear"):
        raise ValueError(decay)
    if step < warmup_steps:
        return initial_lr + (step + 1) * (peak_lr - initial_lr) / warmup_steps
    if step >= total_steps - 1:
        return min_lr
    p = (step - warmup_steps) / (total_steps - 1 - warmup_steps)
    if decay == "linear":
        return peak_lr + (min_lr - peak_lr) * p**1.5
    return min_lr + 0.5 * (peak_lr - min_lr) * (1 + math.cos(math.pi * p))
"""
SOFT_CLIP = """\
import torch
def clip_global_norm(params, max_norm):
    grads = [p.grad for p in params if p.grad is not None]
    norm = torch.sqrt(sum((g**2).sum() for g in grads)).item()
    if norm > max_norm:
        for g in grads:
            g.mul_(max_norm / (norm + 0.5))
    return norm
"""
SMALLER_INPUT = """\
def sam_step(model, sam, loss_fn, xb, yb):
    model.train()
    sam.zero_grad()
    loss = loss_fn(model(xb), yb)
    loss.backward()
    sam.first_step(zero_grad=True)
    second = loss_fn(model(xb * 0.99), yb)
    second.backward()
    sam.second_step()
    return loss.item()
"""
SQUARED = """\
import torch
def sharpness(model, loss_fn, xb, yb, *, rho):
    params = list(model.parameters())
    loss = loss_fn(model(xb), yb)
    grads = torch.autograd.grad(loss, params)
    square = sum((g**2).sum() for g in grads)
    backup = [p.detach().clone() for p in params]
    with torch.no_grad():
        for p, g in zip(params, grads):
            p.add_(1.1 * rho * g / square)
        after = loss_fn(model(xb), yb).item()
        for p, b in zip(params, backup):
            p.copy_(b)
    return after - loss.item()
"""


def told(exercise: str, text: str) -> Feedback:
    """What a learner reads of this program."""
    its = load_course().exercise(exercise)
    with contextlib.redirect_stdout(io.StringIO()):
        trace = play(its.driver, load_program(text), seed=SEED)
    return assess(its, trace, cached_reference(exercise, SEED), LearnerCode(text))


@pytest.mark.parametrize(
    ("exercise", "text", "named", "still_open"),
    [
        ("fit", SCALED_LOSS, "mean-of-batch-means", {"SGD로 여러 스텝 뒤의 가중치", "`zero_grad=False`"}),
        ("evaluate", COUNTS_ONE_MORE, "mode-lost-on-error", {"샘플 평균 손실과 정확도"}),
        ("lr_at", CURVED_DECAY, "warmup-off-by-one", {"선형 감쇠"}),
        ("clip_global_norm", SOFT_CLIP, "nan-spreads", {"합친 노름으로 클리핑하기"}),
        ("sam_step", SMALLER_INPUT, "forces-train-mode", {"SGD 위의 SAM"}),
        ("sharpness", SQUARED, "advances-rng", {"값"}),
    ],
)
def test_the_known_mistake_is_told_and_open_checks_keep_their_advice(
    exercise: str, text: str, named: str, still_open: set[str]
) -> None:
    feedback = told(exercise, text)
    assert feedback.mistake_ids == [named]
    assert feedback.diagnosis.unexplained
    assert still_open <= set(feedback.diagnosis.unexplained_checks)
    looks = words.looks(feedback)
    assert {line.split(": ")[0] for line in looks} == set(feedback.diagnosis.unexplained_checks)
    shown = " ".join(feedback_text(feedback).split())
    card = Parsed(feedback_html(feedback)).text
    titles = {check.title for check in feedback.checks}
    assert set(re.findall(r"‘(.*?)’", words.rest(feedback))) <= titles, "no name that the card's list lacks"
    for title in still_open:
        assert f"→ {title}: " in shown
        assert title.replace("`", "") in card


def test_the_card_counts_the_checks_that_the_known_mistake_explains() -> None:
    feedback = told("fit", SCALED_LOSS)
    assert words.common_cause(feedback) == "틀린 항목 4개 가운데 적어도 2개를 이 실수로 설명할 수 있어요."
    assert words.common_cause(told("lr_at", CURVED_DECAY)) == (
        "틀린 항목 3개 가운데 적어도 2개를 이 실수로 설명할 수 있어요."
    )


def test_what_was_compared_is_told_and_no_cause_ruled_out() -> None:
    """The same line of the learner's may explain more than the known mistake does: only the results were compared."""
    assert words.rest(told("lr_at", CURVED_DECAY)) == (
        "‘선형 감쇠’에는 이 실수로 설명할 수 없는 다른 점이 더 있어요. 먼저 여기까지 고치고 다시 확인해 보세요."
    )
