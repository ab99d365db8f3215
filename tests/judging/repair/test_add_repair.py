"""What feedback says after a repair was found."""

import pytest

from grader.course.feedback import Diagnosis, Feedback, NamedMistake
from grader.course.reading import load_course
from grader.judging.learner_code import LearnerCode
from grader.judging.repair.add_repair import _with_steps
from grader.judging.repair.search import Repair
from grader.judging.repair.small_edits import SmallEdit

PROGRAM = """def train_step(model, opt, loss_fn, xb, yb):
    model.train()
    loss = loss_fn(model(xb), yb)
    loss.backward()
    opt.step()
    return loss
"""


@pytest.mark.parametrize("right_lines", [("opt.zero_grad()",), ("opt.zero_grad()", "...", "opt.zero_grad()")])
def test_a_missing_line_is_named_where_the_repair_inserts_it(right_lines: tuple[str, ...]) -> None:
    """The likeness says before `backward()`, the repair that was played says below `train()`: the card names one."""
    missing = NamedMistake(
        ("missing-zero-grad",),
        ("안 지웠어요",),
        "",
        "",
        line=4,
        before=True,
        source_line="loss.backward()",
        right_lines=right_lines,
    )
    other = NamedMistake(("returns-tensor",), ("텐서",), "", "", line=6, source_line="return loss")
    feedback = Feedback(
        "01",
        "train_step",
        "",
        "failed",
        (),
        "",
        diagnosis=Diagnosis(mistakes=(missing, other)),
        line=4,
        source_line="loss.backward()",
    )
    edits = (
        SmallEdit(2, "missing", "", (), ("    opt.zero_grad()",), side="after"),
        SmallEdit(6, "returned", "", ("    return loss",), ("    return loss.item()",)),
    )
    exercise = load_course().exercise("train_step")
    told = _with_steps(feedback, exercise, LearnerCode(PROGRAM), Repair(edits, 2))
    first, second = told.diagnosis.mistakes
    step = told.diagnosis.repair[0]
    assert (first.line, first.before, first.after) == (step.line, False, True) == (2, False, True)
    assert (told.line, told.source_line) == (2, "model.train()")
    assert second == other
