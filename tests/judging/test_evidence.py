"""What a card shows as the first difference belongs to the mistake at whose line it points, and is true."""

from grader.course.feedback import Diagnosis, FirstDifference
from grader.course.reading import load_course
from grader.grading import SEED
from grader.judging.assess import assess
from grader.judging.learner_code import LearnerCode
from grader.judging.reference import cached_reference
from grader.judging.solution import solution_source
from grader.observe.play import play
from grader.observe.program import load_program

UNCHECKED_AND_SHORT = """
import math

def plan_steps(n_batches, n_epochs, *, warmup_ratio, accum_steps=1):
    total = math.ceil(n_batches / accum_steps) * n_epochs
    return total, round(total * warmup_ratio)
"""

LAST_LOSS = """
def overfit_one_batch(model, opt, loss_fn, xb, yb, *, target, max_steps):
    was = {m: m.training for m in model.modules()}
    last = 0.0
    model.train()
    try:
        for _ in range(max_steps):
            opt.zero_grad()
            loss = loss_fn(model(xb), yb)
            last = loss.item()
            if last <= target:
                break
            loss.backward()
            opt.step()
    finally:
        for m in was:
            m.training = was[m]
    opt.zero_grad()
    return last
"""


def diagnosis_of(exercise: str, text: str) -> Diagnosis:
    driver = load_course().exercise(exercise).driver
    trace = play(driver, load_program(text), seed=SEED)
    learner_code = LearnerCode(text)
    return assess(
        load_course().exercise(exercise), trace, cached_reference(exercise, SEED), learner_code
    ).diagnosis


def test_the_first_difference_is_that_of_the_first_mistake() -> None:
    diagnosis = diagnosis_of("plan_steps", UNCHECKED_AND_SHORT)
    first, second = diagnosis.mistakes
    assert diagnosis.first_difference is not None
    assert diagnosis.first_difference.scenario in first.scenarios
    assert diagnosis.first_difference.scenario not in second.scenarios


def test_what_is_no_list_has_no_number_of_entries() -> None:
    found = diagnosis_of("overfit_one_batch", LAST_LOSS).first_difference
    assert found is not None
    assert (found.got, found.expected) == ("리스트가 아님 (float)", "4개")


CLEARS_TWICE = """
import torch

def train_step_extras(model, opt, loss_fn, xb, yb, *, max_norm=None, scheduler=None):
    opt.zero_grad()
    logits = model(xb)
    opt.zero_grad()
    loss = loss_fn(logits, yb)
    loss.backward()
    if max_norm is not None:
        for p in model.parameters():
            p.grad.mul_(0.7 * max_norm)
    opt.step()
    if scheduler is not None:
        scheduler.step()
    return loss.item()
"""


def test_an_event_that_is_too_many_where_the_program_is_right_is_not_pointed_at() -> None:
    exercise, its = load_course().exercise("train_step_extras"), cached_reference("train_step_extras", SEED)
    trace = play(exercise.driver, load_program(CLEARS_TWICE), seed=SEED)
    feedback = assess(exercise, trace, its, LearnerCode(CLEARS_TWICE))
    assert feedback.status == "failed"
    assert not feedback.diagnosis.mistakes
    assert not [
        m.line for m in feedback.diagnosis.yours if m.differs
    ]  # it finds no gradients: nothing to draw
    assert feedback.line not in (5, 7)


FORGETS_LINEAR = """
import math

def lr_at(step, *, warmup_steps, total_steps, initial_lr, peak_lr, min_lr, decay="cosine"):
    if decay not in ("cosine", "linear"):
        raise ValueError(decay)
    if step < warmup_steps:
        return initial_lr + (peak_lr - initial_lr) * step / warmup_steps
    if step >= total_steps - 1:
        return min_lr
    ratio = (step - warmup_steps) / (total_steps - 1 - warmup_steps)
    if decay == "cosine":
        return min_lr + 0.5 * (peak_lr - min_lr) * (1 + math.cos(math.pi * ratio))
    rate = peak_lr - (peak_lr - min_lr) * ratio
"""


def test_none_is_told_as_none_and_nan_as_nan() -> None:
    for end, told in (("", "None"), ("    return float('nan')\n", "nan")):
        found = diagnosis_of("lr_at", FORGETS_LINEAR + end).first_difference
        assert found is not None
        assert (found.scenario, found.got) == ("선형 감쇠", told)


def test_a_truth_value_beside_none_is_told_as_code_writes_it() -> None:
    """`예` beside None would look like the answer to a question."""
    right = solution_source("02")
    text = right.replace("        return True\n", "")
    assert text != right
    found = diagnosis_of("BestCheckpoint", text).first_difference
    assert found is not None
    assert (found.got, found.expected) == ("None", "True")


def test_a_scenario_is_not_told_twice() -> None:
    title = "집합 통신의 횟수"
    assert FirstDifference(title, f"부를 때마다 {title} (첫 번째)", "1", "2").says_scenario
    assert not FirstDifference("반환값", "첫 번째 반환값", "1", "2").says_scenario
    assert FirstDifference("모드", "모드 (두 번째)", "학습", "평가").says_scenario
