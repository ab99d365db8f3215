"""An exception ends its own scenario only: mistakes in the others are named, and it is told beside them."""

import contextlib
import io
from dataclasses import replace

import pytest

from grader.course.feedback import Feedback
from grader.course.reading import load_course
from grader.grading import SEED
from grader.judging.assess import assess
from grader.judging.explain import explain
from grader.judging.judge import judge
from grader.judging.learner_code import LearnerCode
from grader.judging.reference import Reference, cached_reference
from grader.judging.solution import exercise_source
from grader.observe.play import play
from grader.observe.program import load_program
from grader.observe.trace import Failure, Run, Trace
from grader.report import words
from grader.report.html import feedback_html
from grader.report.text import feedback_text
from tests.report.parsed import Parsed
from tests.sample_programs import sample

CLIP_BY_HAND = """\
def accumulate(model, opt, loss_fn, micro_batches, accum_steps, *, max_norm=None):
    if accum_steps < 1:
        raise ValueError("accum_steps")
    batches, steps, count = list(micro_batches), 0, 0
    for i, (xb, yb) in enumerate(batches):
        (loss_fn(model(xb), yb) / accum_steps).backward()
        count += 1
        if count == accum_steps or i == len(batches) - 1:
            if max_norm is not None:
                scale = max_norm / sum(p.grad.norm() ** 2 for p in model.parameters()) ** 0.5
                for p in model.parameters():
                    p.grad.mul_(scaled)
            opt.step()
            opt.zero_grad()
            steps, count = steps + 1, 0
    return steps
"""
GRADIENT_TOO_EARLY = """\
def fit(model, opt, loss_fn, loader, epochs, *, zero_grad=True):
    history = []
    for epoch in range(epochs):
        total, n = 0.0, 0
        for xb, yb in loader:
            if zero_grad:
                opt.zero_grad()
            else:
                for p in model.parameters():
                    p.grad.mul_(1.0)
            loss = loss_fn(model(xb), yb)
            loss.backward()
            opt.step()
            total += loss.item()
            n += 1
        history.append(total / n)
    return history
"""
FORGOTTEN_ARGUMENT = """\
import torch
def train_step_extras(model, opt, loss_fn, xb, yb, *, max_norm=None, scheduler=None):
    loss = loss_fn(model(xb), yb)
    loss.backward()
    if max_norm is not None:
        torch.nn.utils.clip_grad_norm_(model.parameters())
    opt.step()
    if scheduler is not None:
        scheduler.step()
    return loss.item()
"""
SCHEDULER_ARGUMENTS = """\
import torch
def train_step_extras(model, opt, loss_fn, xb, yb, *, max_norm=None, scheduler=None):
    opt.zero_grad()
    loss = loss_fn(model(xb), yb)
    loss.backward()
    opt.step()
    if max_norm is not None:
        torch.nn.utils.clip_grad_norm_(model.parameters(), max_norm)
    if scheduler is not None:
        scheduler.step(loss, opt, 1)
    return loss.item()
"""
UNSCALED_TWICE = """\
import torch
def amp_accumulate(model, opt, loss_fn, micro_batches, *, dtype, scaler=None, max_norm=None):
    opt.zero_grad()
    total = 0.0
    for xb, yb in micro_batches:
        with torch.autocast(xb.device.type, dtype):
            loss = loss_fn(model(xb), yb)
        total += loss.item()
        (loss if scaler is None else scaler.scale(loss)).backward()
    if scaler is not None:
        scaler.unscale_(opt)
    if max_norm is not None:
        if scaler is not None:
            scaler.unscale_(opt)
        torch.nn.utils.clip_grad_norm_(model.parameters(), max_norm)
    if scaler is None:
        opt.step()
    else:
        scaler.step(opt)
        scaler.update()
    return total / len(micro_batches)
"""
WITHOUT_THE_PARAMETER = """\
def accumulate(model, opt, loss_fn, micro_batches, accum_steps):
    if accum_steps < 1:
        raise ValueError("accum_steps")
    steps = count = 0
    for xb, yb in micro_batches:
        loss_fn(model(xb), yb).backward()
        count += 1
        if count == accum_steps:
            opt.step()
            opt.zero_grad()
            steps, count = steps + 1, 0
    if count > 0:
        opt.step()
        opt.zero_grad()
        steps += 1
    return steps
"""


def told(exercise: str, text: str) -> Feedback:
    """What a learner reads of this program."""
    its = load_course().exercise(exercise)
    with contextlib.redirect_stdout(io.StringIO()):
        trace = play(its.driver, load_program(text), seed=SEED)
    return assess(its, trace, cached_reference(exercise, SEED), LearnerCode(text))


@pytest.mark.parametrize(
    ("exercise", "text", "named", "line", "advice"),
    [
        ("accumulate", CLIP_BY_HAND, {"leftover-divided-by-full"}, 12, "`scale`을 쓰려던 건가요?"),
        (
            "fit",
            GRADIENT_TOO_EARLY,
            {"mean-of-batch-means", "missing-train-mode"},
            10,
            "`.grad`가 `None`이에요",
        ),
        ("train_step_extras", FORGOTTEN_ARGUMENT, {"missing-zero-grad"}, 6, "`max_norm` 인자를 빠뜨렸어요"),
        ("train_step_extras", SCHEDULER_ARGUMENTS, {"clip-after-step"}, 10, "인자를 너무 많이 주었어요"),
        ("amp_accumulate", UNSCALED_TWICE, {"no-division"}, 14, "`scaler.unscale_(opt)`를 두 번 했어요"),
    ],
    ids=["clip-by-hand", "gradient-too-early", "forgotten-argument", "scheduler-arguments", "unscaled-twice"],
)
def test_mistakes_are_named_and_the_exception_is_told_at_its_line(
    exercise: str, text: str, named: set[str], line: int, advice: str
) -> None:
    feedback = told(exercise, text)
    assert named <= {one for mistake in feedback.diagnosis.mistakes for one in mistake.ids}
    assert len(feedback.diagnosis.mistakes) == len(named)
    assert feedback.line == line
    step = words.next_step(feedback)
    assert step.startswith(f"{line}번째 줄에서 나는 예외는 위의 실수 때문이 아니에요.")
    assert words.headline(feedback).text.startswith("예외가 나요. 그리고 ") == (len(named) == 1)
    assert advice in step
    place = words.place_beside_exception(feedback)
    assert bool(place) == (len(named) == 1)
    for shown in (" ".join(feedback_text(feedback).split()), Parsed(feedback_html(feedback)).text):
        assert step.replace("`", "")[:30] in shown.replace("`", "")
        assert place in shown


def test_a_missing_parameter_is_told_beside_a_mistake() -> None:
    feedback = told("accumulate", WITHOUT_THE_PARAMETER)
    assert feedback.mistake_ids == ["no-division"]
    assert words.next_step(feedback).startswith("매개변수 `max_norm`이 없어요. ")


def test_an_exception_that_a_mistake_explains_is_told_once() -> None:
    text = "def zero_gradients(params):\n    for p in params:\n        p.grad.zero_()\n"
    feedback = told("zero_gradients", text)
    assert feedback.diagnosis.mistakes
    assert feedback.error is not None
    assert words.next_step(feedback) == ""


def test_an_exception_that_the_named_mistake_raises_too_is_not_told_apart() -> None:
    """The scenario stays unexplained for another reason: something else is wrong in it, besides the exception."""
    its = cached_reference("fit", SEED)
    source = its.sources["step-before-backward"]
    runs = {s.name: its.complete_run(source, s.name) for s in its.exercise.driver.scenarios}
    run = runs["never-clears"]
    assert run.failure is not None
    facts = {**run.facts, "출력": "있음"}
    for type_name, is_apart in ((run.failure.type, False), ("KeyError", True)):
        message = run.failure.message if type_name == run.failure.type else "'scale'"
        raised = replace(run.failure, type=type_name, bases=(type_name,), message=message, line=3)
        trace = Trace({**runs, "never-clears": replace(run, facts=facts, failure=raised)})
        diagnosis = assess(its.exercise, trace, its, LearnerCode("")).diagnosis
        assert "step-before-backward" in [one for named in diagnosis.mistakes for one in named.ids]
        assert diagnosis.exception_apart == is_apart


def cut_off(runs: dict[str, Run], scenario: str) -> Trace:
    """The runs, of which one raises at once for a reason of its own."""
    failure = Failure("NameError", ("NameError",), "name 'scaled' is not defined", 3)
    arrays = {name: array[:1] for name, array in runs[scenario].arrays.items() if name == "theta"}
    return Trace({**runs, scenario: replace(Run(), arrays=arrays, failure=failure)})


def named_beside(its: Reference, mistake: str, scenario: str) -> list[set[str]]:
    """Ids named of a known mistake's program that also raises in one scenario."""
    runs = {s.name: its.complete_run(its.sources[mistake], s.name) for s in its.exercise.driver.scenarios}
    trace = cut_off(runs, scenario)
    explanation = explain(trace, judge(its.exercise, trace, its.solution_run), its)
    return [{one.id for one in named.alternatives} for named in explanation.mistakes]


@pytest.mark.parametrize(
    ("exercise", "mistake", "scenario"),
    [
        ("train_step", "backward-twice", "sgd"),  # the events before the exception must not choose another
        ("train_step", "detached-loss", "sgd"),
        ("evaluate", "missing-eval-mode", "mixed"),
        ("evaluate", "counts-none-right", "accuracy"),
        ("evaluate", "divides-by-batch-count", "accuracy"),
    ],
)
def test_what_ran_to_its_end_is_evidence_beside_an_exception(
    exercise: str, mistake: str, scenario: str
) -> None:
    (named,) = named_beside(cached_reference(exercise, SEED), mistake, scenario)
    assert mistake in named  # one that only the missing scenario would tell apart may stand beside it


def test_an_own_exception_is_no_evidence_of_a_mistake_where_others_stay_unexplained() -> None:
    """Both have one cause, which nobody knows: the values of a file are passed in their order."""
    feedback = told("TrainConfig", sample("unlisted", "TrainConfig", "by_position").text)
    assert feedback.status == "error"
    assert feedback.mistake_ids == []


@pytest.mark.parametrize(
    ("right", "misspelt"),
    [
        ("loss.backward()", "loss.bakward()"),
        ("opt.step()", "opt.stpe()"),
        ("opt.zero_grad()", "opt.zero_gard()"),
        ("loss.item()", "loss.itme()"),
    ],
)
def test_a_misspelt_method_is_told_as_such(right: str, misspelt: str) -> None:
    """Some mistakes raise an AttributeError, too: `backward` of a number where the graph was cut."""
    exercise = load_course().exercise("train_step")
    source = exercise_source(exercise).replace(right, misspelt)
    trace = play(exercise.driver, load_program("import torch\n" + source), seed=SEED)
    feedback = assess(exercise, trace, cached_reference("train_step", SEED), LearnerCode(source))
    assert feedback.mistake_ids == []
    assert misspelt.split(".")[1].removesuffix("()") in str(feedback.error)


def test_backward_of_a_number_is_still_the_cut_graph() -> None:
    exercise = load_course().exercise("train_step")
    source = exercise_source(exercise).replace("loss.backward()", "loss = float(loss)\n    loss.backward()")
    trace = play(exercise.driver, load_program("import torch\n" + source), seed=SEED)
    feedback = assess(exercise, trace, cached_reference("train_step", SEED), LearnerCode(source))
    assert feedback.mistake_ids == ["detached-loss"]


@pytest.mark.parametrize(
    ("call", "mistake"),
    [
        ("opt.step()", "missing-step"),
        ("loss.backward()", "missing-backward"),
        ("opt.zero_grad()", "missing-zero-grad"),
    ],
)
def test_a_method_without_parentheses_is_told_on_its_line(call: str, mistake: str) -> None:
    exercise = load_course().exercise("train_step")
    named = call.removesuffix("()")
    source = exercise_source(exercise).replace(call, named)
    trace = play(exercise.driver, load_program("import torch\n" + source), seed=SEED)
    feedback = assess(exercise, trace, cached_reference("train_step", SEED), LearnerCode(source))
    assert feedback.mistake_ids == [mistake]
    assert feedback.source_line.strip() == named
    assert f"`{named}` 뒤에 괄호가 없어서" in feedback.diagnosis.mistakes[0].explain
    assert not feedback.diagnosis.mistakes[0].before


def test_a_method_without_parentheses_is_told_in_a_helper_too() -> None:
    """There the learner clears by hand: the title does not say that `opt.zero_grad()` is missing."""
    exercise = load_course().exercise("train_step")
    helper = "def clear(model):\n    for p in model.parameters():\n        if p.grad is not None:\n"
    helper += "            p.grad.zero_\n\n\n"
    source = helper + exercise_source(exercise).replace("opt.zero_grad()", "clear(model)")
    trace = play(exercise.driver, load_program("import torch\n" + source), seed=SEED)
    feedback = assess(exercise, trace, cached_reference("train_step", SEED), LearnerCode(source))
    assert feedback.mistake_ids == ["missing-zero-grad"]
    (mistake,) = feedback.diagnosis.mistakes
    assert (mistake.line, mistake.titles) == (4, ("`p.grad.zero_` 뒤에 괄호가 없어요",))
    assert "`p.grad.zero_` 뒤에 괄호가 없어서 불리지 않았어요." in mistake.explain


@pytest.mark.parametrize(
    ("call", "mistake"), [("opt.step()", "missing-step"), ("loss.backward()", "missing-backward")]
)
def test_a_line_behind_return_is_not_called_missing(call: str, mistake: str) -> None:
    """The line is there: the title says why it does nothing, and the card points at the `return`."""
    exercise = load_course().exercise("train_step")
    lines = exercise_source(exercise).splitlines()
    at = next(number for number, line in enumerate(lines) if call in line)
    source = "\n".join([*lines[:at], "    return loss.item()", *lines[at:]])
    trace = play(exercise.driver, load_program("import torch\n" + source), seed=SEED)
    feedback = assess(exercise, trace, cached_reference("train_step", SEED), LearnerCode(source))
    (named,) = feedback.diagnosis.mistakes
    assert named.id == mistake
    assert named.titles == ("`return` 뒤에 있는 줄은 실행되지 않아요",)
    assert f"`{call}` 줄이 `return` 뒤에 있어서" in named.explain
    assert (named.line, named.before, named.after) == (at + 1, False, False)


def test_card_frames_the_mistake_and_tells_where_it_raised() -> None:
    """The line that raised is right: `backward()` of what `.item()` made a number."""
    exercise = load_course().exercise("train_step")
    source = (
        "def train_step(model, opt, loss_fn, xb, yb):\n"
        "    opt.zero_grad()\n"
        "    loss = loss_fn(model(xb), yb).item()\n"
        "    loss.backward()\n"
        "    opt.step()\n"
        "    return loss\n"
    )
    trace = play(exercise.driver, load_program(source), seed=SEED)
    feedback = assess(exercise, trace, cached_reference("train_step", SEED), LearnerCode(source))
    assert (feedback.mistake_ids, feedback.line) == (["detached-loss"], 4)
    said = " ".join(feedback_text(feedback).split())
    assert "내 코드 3번째 줄 3 | loss = loss_fn(model(xb), yb).item()" in said
    assert "예외 · 4번째 줄 AttributeError" in said
    card = feedback_html(feedback)
    assert "3번째 줄" in card.split("예외")[0]
    assert "4번째 줄" in card.split("예외")[1]


CLIMBS_OVER_NONE = """\
import torch


def sgd_update(params, lr):
    with torch.no_grad():
        for p in params:
            change = lr * p.grad
            p += change
"""


def test_the_mistake_that_raises_is_told_first_under_its_exception() -> None:
    """The TOML lists `climbs` first, but the exception that stands above the mistakes is the other's."""
    feedback = told("sgd_update", CLIMBS_OVER_NONE)
    assert feedback.mistake_ids == ["touches-none", "climbs"]
    assert [mistake.line for mistake in feedback.diagnosis.mistakes] == [7, 8]
    said = " ".join(feedback_text(feedback).split())
    assert "7 | change = lr * p.grad 예외 TypeError" in said
    assert (
        said.index("예외 TypeError")
        < said.index("1. `.grad`가 None인")
        < said.index("2. 그레이디언트 쪽으로")
    )


@pytest.mark.full
def test_the_order_does_not_depend_on_who_was_graded_before() -> None:
    """Kept runs may be broken off where they differed from an earlier learner's, before the exception."""
    program = (
        exercise_source(load_course().exercise("train_step_extras"))
        .replace("if max_norm is not None:", "if True:")
        .replace("if scheduler is not None:", "if True:")
    )
    exercise = load_course().exercise("train_step_extras")
    trace = play(exercise.driver, load_program(f"import torch\n{program}", name="both"), seed=SEED)
    fresh, broken_off, complete = (Reference(exercise, SEED) for _ in range(3))
    other = complete.complete_run(complete.sources["step-before-backward"], "clip")
    for variant in complete.variants:
        broken_off.reproduces(broken_off.sources[variant.name], "clip", other)
        complete.complete_run(complete.sources[variant.name], "clip")
    first, *later = (
        assess(exercise, trace, its, LearnerCode(program)) for its in (fresh, broken_off, complete)
    )
    assert [one.id for one in first.diagnosis.mistakes] == ["scheduler-not-optional", "max-norm-not-optional"]
    assert later == [first, first]
