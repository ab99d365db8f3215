"""What a card says beside an exception over a name, and of a method that was never written."""

import re

from grader.course.feedback import Feedback
from grader.course.reading import load_course
from grader.grading import SEED
from grader.judging.assess import assess
from grader.judging.learner_code import LearnerCode
from grader.judging.reference import cached_reference
from grader.judging.solution import exercise_source
from grader.observe.play import play
from grader.observe.program import load_program
from grader.report.text import feedback_text

TYPO = """import torch
def train_step(model, opt, loss_fn, xb, yb):
    opt.zerograd()
    loss = loss_fn(model(xb), yb)
    loss.backward
    opt.step()
    return loss.item()
"""


def judged(name: str, source: str) -> Feedback:
    exercise = load_course().exercise(name)
    trace = play(exercise.driver, load_program(source), seed=SEED)
    return assess(exercise, trace, cached_reference(name, SEED), LearnerCode(source))


def test_beside_a_typo_stands_no_order_of_the_answer() -> None:
    for source in (TYPO, TYPO.replace("opt.zerograd", "optimizer.zero_grad")):
        told = feedback_text(judged("train_step", source))
        assert "→ backward" not in told
        assert "실행 순서" not in told


def test_missing_parentheses_further_down_are_told_with_the_exception() -> None:
    (note,) = judged("train_step", TYPO).notes
    assert note == "5번째 줄도 보세요. `loss.backward` 뒤에 괄호가 없어서 불리지 않았어요."


def test_a_method_that_was_never_written_is_said_to_be_missing() -> None:
    source = f"import math\nimport torch\n{exercise_source(load_course().exercise('SAM'))}"
    source = source[: source.index("    def state_dict")].replace(
        "        self.state = self.base_optimizer.state\n", ""
    )
    (mistake,) = judged("SAM", source).diagnosis.mistakes
    assert "base-state-not-saved" in mistake.ids
    assert mistake.explain.startswith("`state_dict` 메서드가 없어서 `torch.optim.Optimizer`의 것이")
    assert re.match(r"class SAM\(", mistake.source_line or "")
