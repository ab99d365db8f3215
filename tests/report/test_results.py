"""`results.json`: what outside tools read, and what comes back whole."""

import json
import re
import unicodedata
from dataclasses import replace
from typing import get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from grader.course.feedback import (
    CheckResult,
    ClassResult,
    Diagnosis,
    Feedback,
    FirstDifference,
    Moment,
    NamedMistake,
    Recipe,
    Status,
    SubmissionResult,
)
from grader.report.html import feedback_html
from grader.report.results import dump, from_json, to_json
from tests.report import samples

KINDS = samples.every_kind()
FIXED = ["lesson", "exercise", "status", "score", "max_score", "mistakes", "message", "line", "seconds"]


def test_results_have_the_promised_shape() -> None:
    """Outside tools read these names in this order; what is new comes after them."""
    document = json.loads(to_json(samples.small_class()))
    assert list(document)[:5] == ["schema", "seed", "device", "sandbox", "submissions"]
    assert document["schema"] == "hanstep.results/2"
    student = document["submissions"][0]
    assert list(student)[:4] == ["student", "score", "max_score", "exercises"]
    assert (student["student"], student["score"], student["max_score"]) == ("김하윤", 10.0, 28.0)
    by_name = {e["exercise"]: e for e in student["exercises"]}
    assert all(list(e)[: len(FIXED)] == FIXED for e in by_name.values())
    assert {k: by_name["train_step"][k] for k in FIXED} == {
        "lesson": "01",
        "exercise": "train_step",
        "status": "failed",
        "score": 1.0,
        "max_score": 4.0,
        "mistakes": ["missing-zero-grad"],
        "message": "`opt.zero_grad()`를 부르지 않았어요",
        "line": 7,
        "seconds": 0.051,
    }
    assert by_name["train_step_extras"]["mistakes"] == ["clip-before-backward|no-clip|clip-after-step"]
    assert by_name["accumulate"]["mistakes"] == ["no-division", "drops-leftover"]
    assert by_name["fit"]["mistakes"] == []


def test_each_value_of_a_diagnosis_has_a_name() -> None:
    """Since hanstep.results/2 nobody needs to count places in a list."""
    (first, *_) = json.loads(to_json(samples.small_class()))["submissions"][0]["exercises"]
    assert first["begun"] is True
    assert first["checks"][0] == {"title": "SGD 궤적", "points": 2.0, "passed": False, "look": ""}
    found = first["diagnosis"]
    assert list(found)[:5] == ["mistakes", "first_difference", "yours", "right", "recipe"]
    assert list(found)[5:] == [
        "unexplained",
        "unexplained_checks",
        "near",
        "repair",
        "pasted",
        "repair_leaves",
        "remembered",
        "order_scenario",
        "signature",
        "exception_apart",
    ]
    assert list(found["mistakes"][0])[:4] == ["ids", "titles", "explain", "hint"]
    assert list(found["mistakes"][0])[4:] == [
        "scenarios",
        "line",
        "cell",
        "before",
        "after",
        "source_line",
        "symptom",
        "difference",
        "right_lines",
        "mend",
    ]
    assert found["first_difference"] == {
        "scenario": "SGD",
        "what": "두 번째 업데이트 뒤의 0.weight[3]",
        "expected": "-0.217431",
        "got": "-0.351882",
        "update": 2,
        "tensor": "0.weight",
    }
    moment = {
        "kind": "forward",
        "line": 4,
        "batch": 2,
        "differs": False,
        "goes_before": False,
        "goes_on": False,
    }
    assert found["yours"][0] == moment
    moment = {
        "kind": "zero_grad",
        "line": None,
        "batch": None,
        "differs": True,
        "goes_before": False,
        "goes_on": False,
    }
    assert found["right"][0] == moment
    assert found["recipe"] == {
        **{"update": 2, "batches": [1, 2], "got": [1.0, 1.0], "expected": [0.0, 1.0]},
        **{"residual": 0.0, "moved": [], "scenario": "", "has_unscaled_part": False},
    }


def test_results_come_back_whole() -> None:
    """A resumed run redraws every page from results.json: nothing a page shows may be missing there."""
    result = samples.small_class()
    back = from_json(to_json(result))
    assert to_json(back) == to_json(result)
    first, again = result.submissions[0], back.submissions[0]
    assert again.digest == first.digest
    assert again.notes == first.notes
    clash = replace(first.feedbacks[0], source_line="    y = 1\n      z = 2", lines_above=1)
    submissions = (replace(first, feedbacks=(clash, *first.feedbacks[1:])), *result.submissions[1:])
    read = from_json(to_json(replace(result, submissions=submissions))).submissions[0].feedbacks[0]
    assert (read.lines_above, feedback_html(read)) == (1, feedback_html(clash))
    for one, other in zip(first.feedbacks[1:], again.feedbacks[1:], strict=True):
        assert one == other
    for one, other in zip(first.feedbacks, again.feedbacks, strict=True):
        assert feedback_html(one) == feedback_html(other)


def test_results_differ_only_in_seconds_between_runs() -> None:
    """The same seed must give the same bytes; times cannot."""
    result = samples.small_class()
    slower = replace(
        result,
        submissions=tuple(
            replace(s, feedbacks=tuple(replace(f, seconds=f.seconds + 1) for f in s.feedbacks))
            for s in result.submissions
        ),
    )
    assert to_json(result) == to_json(samples.small_class())
    assert to_json(result) != to_json(slower)
    masked = [re.sub(r'"seconds": [\d.]+', "", to_json(r)) for r in (result, slower)]
    assert masked[0] == masked[1]


def test_results_survive_numbers_that_json_has_not() -> None:
    """A diverged submission has NaN coefficients; the file must stay valid JSON."""
    recipe = Recipe(1, (1, 2), (float("nan"), float("inf")), (1.0, 0.0), float("nan"))
    feedback = replace(samples.unknown(), diagnosis=Diagnosis(recipe=recipe))
    text = to_json(ClassResult(1, "cpu", "none", (SubmissionResult("x", (feedback,)),)))
    json.loads(text, parse_constant=lambda name: pytest.fail(f"{name} is no JSON"))
    (submission,) = from_json(text).submissions
    back = submission.feedbacks[0].diagnosis.recipe
    assert back is not None
    assert str(back.got) == "(nan, inf)"
    assert "NaN·g₁ + ∞·g₂" in feedback_html(submission.feedbacks[0])


def test_nothing_in_the_file_turns_or_hides_text() -> None:
    """What is escaped comes back as it was."""
    nasty = "a\x85b\x9b31m\u202ec\u2066d\u200be\u2028f\ufeffg\x7fh\U000e0041"
    text = to_json(ClassResult(1, "cpu", "none", (SubmissionResult(nasty, (samples.unknown(),)),)))
    assert [c for c in text if unicodedata.category(c) in ("Cc", "Cf", "Cs", "Zl", "Zp") and c != "\n"] == []
    (submission,) = from_json(text).submissions
    assert submission.student == nasty


def back_from(feedback: Feedback) -> Feedback:
    text = to_json(ClassResult(1, "cpu", "none", (SubmissionResult("x", (feedback,)),)))
    (submission,) = from_json(text).submissions
    return submission.feedbacks[0]


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_of_feedback_comes_back(kind: str) -> None:
    """Whatever happened to a student's code: only rounding noise in a recipe is gone."""
    feedback = KINDS[kind]
    recipe = feedback.diagnosis.recipe
    if recipe is not None and recipe.residual < 1e-9:
        feedback = replace(
            feedback, diagnosis=replace(feedback.diagnosis, recipe=replace(recipe, residual=0.0))
        )
    assert back_from(feedback) == feedback


def test_a_recipe_of_two_places_comes_back() -> None:
    recipe = Recipe(3, (1, 1), (0.5, -1.0), (0.0, 1.0), 0.25, moved=(False, True), scenario="SAM · `AdamW`")
    feedback = replace(samples.unknown(), diagnosis=Diagnosis(recipe=recipe))
    assert back_from(feedback) == feedback


HUNDREDTHS = st.integers(-999, 999).map(lambda n: n / 100)
ANY_TEXT = st.text(st.characters(), max_size=20)  # lone surrogates too


def recipe_of(rows: list[tuple[int, float, float, bool]], two_places: bool, scenario: str) -> Recipe:
    batches, got, expected, moved = zip(*rows, strict=True)
    return Recipe(1, batches, got, expected, 0.5, moved if two_places else (), scenario)


FEEDBACKS = st.builds(
    Feedback,
    lesson=ANY_TEXT,
    exercise=ANY_TEXT,
    title=ANY_TEXT,
    status=st.sampled_from(get_args(Status)),
    checks=st.lists(
        st.builds(CheckResult, ANY_TEXT, st.integers(1, 40).map(lambda n: n / 4), st.booleans()), max_size=4
    ).map(tuple),
    message=ANY_TEXT,
    begun=st.booleans(),
    diagnosis=st.builds(
        Diagnosis,
        mistakes=st.lists(st.builds(NamedMistake), max_size=2).map(tuple),
        first_difference=st.none() | st.builds(FirstDifference),
        yours=st.lists(st.builds(Moment), max_size=3).map(tuple),
        right=st.lists(st.builds(Moment), max_size=3).map(tuple),
        recipe=st.none()
        | st.builds(
            recipe_of,
            st.lists(
                st.tuples(st.integers(1, 99), HUNDREDTHS, HUNDREDTHS, st.booleans()), min_size=1, max_size=4
            ),
            st.booleans(),
            ANY_TEXT,
        ),
    ),
    line=st.none() | st.integers(1, 999),
    cell=st.none() | st.integers(1, 999),
    source_line=st.none() | ANY_TEXT,
    file=st.none() | ANY_TEXT,
    error=st.none() | ANY_TEXT,
    notes=st.lists(ANY_TEXT, max_size=2).map(tuple),
    seconds=st.integers(0, 99_999).map(lambda n: n / 1000),
)


@given(FEEDBACKS)
def test_whatever_a_feedback_says_comes_back(feedback: Feedback) -> None:
    """Any text, any status, any combination of parts: equal, not only alike."""
    assert back_from(feedback) == feedback


@pytest.mark.parametrize("count", [0, 1, 3])
def test_it_is_laid_out_like_one_document(count: int) -> None:
    """It is written student by student, which nobody sees."""
    students = tuple(
        replace(samples.typical(f'a\n"submissions": []{n}'), notes=("\u2028",)) for n in range(count)
    )
    text = to_json(replace(samples.small_class(), submissions=students))
    assert text == dump(json.loads(text)) + "\n"
