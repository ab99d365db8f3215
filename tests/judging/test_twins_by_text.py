"""Of mistakes that behave alike, those that the learner's text contradicts are not shown."""

from grader.course.reading import load_course
from grader.grading import SEED
from grader.judging.assess import assess
from grader.judging.learner_code import LearnerCode
from grader.judging.reference import cached_reference
from grader.observe.play import play
from grader.observe.program import load_program


def test_twin_that_keeps_a_call_which_is_not_written_is_not_shown() -> None:
    """Without the last window, a program without clipping behaves as one that clips only that window."""
    exercise = load_course().exercise("accumulate")
    source = (
        "def accumulate(model, opt, loss_fn, micro_batches, accum_steps, *, max_norm=None):\n"
        "    for number, (xb, yb) in enumerate(micro_batches, start=1):\n"
        "        loss_fn(model(xb), yb).backward()\n"
        "        if number % accum_steps == 0:\n"
        "            opt.step()\n"
        "            opt.zero_grad()\n"
        "    return number // accum_steps\n"
    )
    trace = play(exercise.driver, load_program(source), seed=SEED)
    feedback = assess(exercise, trace, cached_reference("accumulate", SEED), LearnerCode(source))
    (named,) = (mistake for mistake in feedback.diagnosis.mistakes if "no-clip" in mistake.ids)
    assert named.ids == ("no-clip", "full-windows-not-clipped")
    assert named.titles == ("그레이디언트를 클리핑하지 않았어요",)
