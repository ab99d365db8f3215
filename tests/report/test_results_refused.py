"""`results.json`: what is broken, foreign, of another version or edited by hand is refused in Korean."""

import json
from typing import Any

import pytest

from grader.report.results import ResultsError, from_json, submission_from_document, to_json
from tests.report import samples

DELETED = object()


def document() -> dict[str, Any]:
    """One student with one exercise, a named mistake: every part that results can have."""
    made: dict[str, Any] = json.loads(to_json(samples.small_class()))
    student = made["submissions"][0]
    exercise = student["exercises"][0]
    return {**made, "submissions": [{**student, "score": exercise["score"], "exercises": [exercise]}]}


def with_value(path: str, value: object) -> str:
    """The document's JSON with another value at `path`, or without what stands there."""
    made: Any = document()
    *parents, last = [int(key) if key.isdecimal() else key for key in path.split(".")]
    place = made
    for key in parents:
        place = place[key]
    assert last in place or isinstance(last, int), path
    if value is DELETED:
        del place[last]
    else:
        place[last] = value
    return json.dumps(made)


def changed(**fields: object) -> str:
    made = json.loads(to_json(samples.small_class()))
    made["submissions"][0]["exercises"][0].update(fields)
    return json.dumps(made)


@pytest.mark.parametrize(
    "text",
    [
        *("", "{", "[]", "null", '{"schema": "other/1"}', '{"schema": "hanstep.results/2"}'),
        pytest.param("[" * 100_000, id="deep"),
        '{"schema": "hanstep.results/2", "seed": "7", "device": "cpu", "sandbox": "none", "submissions": []}',
        '{"schema": "hanstep.results/2", "seed": 7, "device": "cpu", "sandbox": "none", "submissions": [3]}',
        *(
            changed(status="great"),
            changed(checks=[{"title": "x", "points": 100.0, "passed": True}]),
            changed(line="7"),
            changed(checks=3),
        ),
        *(changed(mistakes=["other"]), changed(diagnosis={}), changed(seconds=None)),
    ],
)
def test_broken_results_are_refused_in_korean(text: str) -> None:
    """--resume on a broken or foreign file ends with a sentence, not a traceback, and believes nothing."""
    with pytest.raises(ResultsError, match=r"[가-힣]+.*(지우고|골라)"):
        from_json(text)


def test_forged_totals_are_refused() -> None:
    """A results.json whose total is not the sum of its checks was edited by hand."""
    made = json.loads(to_json(samples.small_class()))
    made["submissions"][0]["score"] = 28.0
    with pytest.raises(ResultsError):
        from_json(json.dumps(made))


def test_the_document_that_is_broken_below_is_whole() -> None:
    """Else everything below would be refused for another reason."""
    (submission,) = from_json(json.dumps(document())).submissions
    assert submission.feedbacks[0].diagnosis.recipe is not None


# What `hanstep.results/1` looked like: checks, mistakes, moments and recipe were lists without names.
THE_VERSION_BEFORE = {
    **{"schema": "hanstep.results/1", "seed": 7, "device": "cpu", "sandbox": "bwrap"},
    "submissions": [
        {
            **{"student": "김하윤", "score": 1.0, "max_score": 2.0},
            "exercises": [
                {
                    **{"lesson": "01", "exercise": "train_step", "status": "failed", "score": 1.0},
                    **{"max_score": 2.0, "mistakes": ["no-clip"], "message": "자르지 않아요", "line": 7},
                    **{"seconds": 0.051, "cell": 3, "file": "hw.ipynb", "source_line": "opt.step()"},
                    **{
                        "error": None,
                        "title": "한 스텝",
                        "checks": [["SGD", 1.0, True], ["AdamW", 1.0, False]],
                    },
                    "notes": [],
                    "diagnosis": {
                        "mistakes": [[["no-clip"], ["자르지 않아요"], "커요.", "왜 그럴까요?"]],
                        "departure": ["AdamW", "반환값", "0.1", "0.2", None, None],
                        "yours": [["step", 7, None, False]],
                        "right": [["clip", None, None, True], ["step", None, None, False]],
                        "recipe": [1, [1], [1.0], [0.5], 0.0, [], ""],
                    },
                }
            ],
            **{"notes": [], "scrutiny": [], "digest": "0123456789abcdef"},
        }
    ],
}


def test_results_of_the_version_before_are_refused() -> None:
    """The line says which version the file is of, which one can be read, and what to do."""
    with pytest.raises(ResultsError) as refused:
        from_json(json.dumps(THE_VERSION_BEFORE))
    told = str(refused.value)
    assert told.index("hanstep.results/1") < told.index("hanstep.results/2")
    assert "--out" in told
    assert told.endswith("주세요.")
    with pytest.raises(ResultsError):  # nor is it read by whom reads a line of a journal
        submission_from_document(THE_VERSION_BEFORE["submissions"][0])  # type: ignore[index]


FIRST = "submissions.0.exercises.0"
FOUND = f"{FIRST}.diagnosis"


@pytest.mark.parametrize(
    "path",
    [
        *("schema", "seed", "device", "sandbox", "submissions"),
        *(f"submissions.0.{key}" for key in ("student", "score", "exercises")),
        *(
            f"{FIRST}.{key}"
            for key in ("lesson", "exercise", "status", "mistakes", "message", "title", "checks")
        ),
        *(f"{FIRST}.checks.0.{key}" for key in ("title", "points", "passed")),
        *(FOUND, f"{FOUND}.mistakes", f"{FOUND}.recipe"),
        *(f"{FOUND}.mistakes.0.{key}" for key in ("ids", "titles", "explain", "hint")),
        *(f"{FOUND}.first_difference.{key}" for key in ("scenario", "what", "expected", "got")),
        *(f"{FOUND}.{side}.0.{key}" for side in ("yours", "right") for key in ("kind", "line")),
        *(f"{FOUND}.recipe.{key}" for key in ("update", "batches", "got", "expected", "residual")),
    ],
)
def test_results_that_lack_something_are_refused(path: str) -> None:
    """Half a document is not filled up with guesses."""
    with pytest.raises(ResultsError, match=r"[가-힣]+.*(지우고|골라)"):
        from_json(with_value(path, DELETED))


@pytest.mark.parametrize(
    ("path", "value"),
    [
        *(("seed", value) for value in (None, "7", 7.5, True, [7], "\ud800")),
        *((key, value) for key in ("device", "sandbox") for value in (None, 3, ["cpu"])),
        *(("submissions", value) for value in (None, {}, "x", 3, [None], [[]], [{}])),
        *(("submissions.0.student", value) for value in (None, 3, ["x"])),
        *(("submissions.0.score", value) for value in (None, "1", [], {})),
        *(("submissions.0.exercises", value) for value in (None, {}, "x", 3, [None], [[]], [{}])),
        *((f"submissions.0.{key}", value) for key in ("notes", "scrutiny") for value in (None, "x", [3])),
        *(("submissions.0.digest", value) for value in (None, 3)),
        *((f"{FIRST}.{key}", 3) for key in ("lesson", "exercise", "message", "title", "file", "source_line")),
        *((f"{FIRST}.status", value) for value in (None, 3, "great", "PASSED", "\ud800")),
        *((f"{FIRST}.{key}", value) for key in ("line", "cell") for value in ("7", 7.5, True, [7])),
        *((f"{FIRST}.seconds", value) for value in (None, "1", True)),
        *((f"{FIRST}.begun", value) for value in (None, 1, "true")),
        *((f"{FIRST}.mistakes", value) for value in (None, "missing-zero-grad", [], ["other"], {})),
        *((f"{FIRST}.checks", value) for value in (None, {}, 3, [None], [["SGD", 1.0, True]])),
        *((f"{FIRST}.checks.0.points", value) for value in (None, "2", True)),
        *((f"{FIRST}.checks.0.passed", value) for value in (None, 0, "false")),
        *((FOUND, value) for value in ({}, [], 3, "x")),
        *((f"{FOUND}.{side}", value) for side in ("yours", "right") for value in (None, {}, [["step", 7]])),
        *(
            (f"{FOUND}.yours.0.{key}", value)
            for key, value in (("line", "4"), ("batch", 2.5), ("differs", 1))
        ),
        (f"{FOUND}.first_difference", ["SGD", "반환값", "0.1", "0.2", None, None]),
        (f"{FOUND}.first_difference.update", "2"),
        *((f"{FOUND}.mistakes.0.{key}", "x") for key in ("ids", "titles")),
        *((f"{FOUND}.recipe", value) for value in ([2, [1, 2], [1.0, 1.0], [0.0, 1.0], 0.0], {}, 3)),
        *((f"{FOUND}.recipe.{key}.0", "three") for key in ("batches", "got", "expected")),
        *((f"{FOUND}.recipe.residual", value) for value in (None, "much", [])),
        (f"{FOUND}.recipe.update", "2"),
    ],
)
def test_results_of_wrong_types_are_refused(path: str, value: object) -> None:
    """A number is not a word, a yes is not a one."""
    with pytest.raises(ResultsError, match=r"[가-힣]+.*(지우고|골라)"):
        from_json(with_value(path, value))


@pytest.mark.parametrize(
    ("key", "value"),
    [
        *(
            ("batches", [1]),
            ("batches", [1, 2, 3]),
            ("got", []),
            ("got", [1.0]),
            ("expected", [0.0, 1.0, 1.0]),
        ),
        *(("moved", [True]), ("moved", [False, True, True])),
    ],
)
def test_recipes_of_unequal_lengths_are_refused(key: str, value: list[object]) -> None:
    """A page would draw one batch's bar under another batch's name."""
    with pytest.raises(ResultsError, match=r"recipe.*지우고"):
        from_json(with_value(f"{FOUND}.recipe.{key}", value))


@pytest.mark.parametrize(
    ("path", "value"),
    [
        *(("submissions.0.score", value) for value in (0.0, 1.001, 4.0, -1.0, float("nan"), float("inf"))),
        *((f"{FIRST}.checks.2.points", value) for value in (0.5, 100.0, -1.0, float("nan"), float("inf"))),
        *((f"{FIRST}.checks.{number}.passed", number != 2) for number in range(3)),
        (f"{FIRST}.checks", []),
        ("submissions.0.exercises", []),
    ],
)
def test_scores_that_do_not_add_up_are_refused(path: str, value: object) -> None:
    """Whichever side was edited: a student has the points of the checks that passed."""
    with pytest.raises(ResultsError, match=r"김하윤: score .*지우고"):
        from_json(with_value(path, value))
