"""Write and read `results.json`: a graded class as data."""

import json
import re
import unicodedata
from collections.abc import Iterator, Mapping
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from grader.base.errors import HanstepError
from grader.base.files import write_whole
from grader.course.feedback import ClassResult, Diagnosis, Feedback, Recipe, SubmissionResult
from grader.report.plain_text import points

SCHEMA = "hanstep.results/2"
"""Current schema of `results.json`.

Since 2 each value inside checks and diagnosis has a name; in 1 they were lists. All other fields are as in 1. Fields
added later are empty if absent: `extras`, `person`, `late`, `handed_in`, `mark`, `unread`, `comments`, `regraded` and
`unmatched` of a submission, `lines_above`, `kind`, `because`, `other_name`, `printed` and `printed_in` of a feedback,
`goes_on` of a moment, `source_line`, `symptom`, `difference`, `right_lines` and `mend` of a mistake, `absent`,
`repair`, `ungraded`, `regrade` and `skipped` of a class, `in_doubt`, `doubt`, `open_until` and `comments` of somebody
absent, `group` of a person.
`score` is always the measured score; `mark` is the final one after the policy and marks given by hand, and its `score`
is null for a student who is excused; `mark` itself is null without rules, and for a student with an exercise that is
`unreadable`, whose points are then no mark at all. `ungraded` lists what could not be read: file, reason, and the
command that grades it.
"""

_UNCOMMON = re.compile("[^\n -~가-힣]")
_Type = TypeVar("_Type")


class ResultsError(HanstepError):
    """A results file cannot be read; the message is Korean and says what to do."""


# ---- writing ------------------------------------------------------------------------------------------


def to_json(result: ClassResult) -> str:
    """Return the text of `results.json`; the same result gives the same bytes."""
    return "".join(_pieces(result))


def _pieces(result: ClassResult) -> Iterator[str]:
    """Yield the file in parts, one student in each.

    Built at once, the document of a large class would be a gigabyte of dictionaries.
    """
    document = {
        "schema": SCHEMA,
        "seed": result.seed,
        "device": result.device,
        "sandbox": result.sandbox,
        "submissions": [],
        "absent": [asdict(absent) for absent in result.absent],
        "skipped": list(result.skipped),
        "repair": result.repair,
        "ungraded": [
            {"student": submission.student, **asdict(unread), "command": result.regrade}
            for submission in result.ungraded
            for unread in submission.unread
        ],
        "regrade": result.regrade,
    }
    before, empty, after = dump(document).partition('"submissions": []')
    yield before + empty.removesuffix("]")
    for number, submission in enumerate(result.submissions):
        yield ",\n  " if number else "\n  "
        entry = dump(submission_to_document(submission))
        yield entry.replace("\n", "\n  ")  # safe: JSON escapes line ends inside strings
    yield ("\n " if result.submissions else "") + f"]{after}\n"


def write_results(path: Path, result: ClassResult) -> None:
    """Write `results.json` atomically: a reader finds the old file or the new one, never half of one."""
    write_whole(path, _pieces(result))


def submission_to_document(submission: SubmissionResult) -> dict[str, Any]:
    """Return one entry of `submissions`: the fixed fields first, then those that only this project reads."""
    return {
        "student": submission.student,
        "score": _number(submission.score),
        "max_score": _number(submission.max_score),
        "exercises": [_feedback_to_document(f) for f in submission.feedbacks],
        "notes": list(submission.notes),
        "scrutiny": list(submission.scrutiny),
        "digest": submission.digest,
        "extras": [_feedback_to_document(f) for f in submission.extras],
        "person": None if submission.person is None else asdict(submission.person),
        "late": submission.late,
        "handed_in": submission.handed_in,
        "mark": None if submission.mark is None else asdict(submission.mark),
        "unread": [asdict(unread) for unread in submission.unread],
        "comments": [asdict(comment) for comment in submission.comments],
        "regraded": None if submission.regraded is None else asdict(submission.regraded),
        "unmatched": submission.unmatched,
    }


def dump(document: object) -> str:
    """Return JSON that is valid UTF-8 whatever students wrote, and that a terminal or an editor shows as it is.

    Escaped are lone surrogates, control characters, and characters that reorder or hide text (bidirectional marks, line
    separators, zero-width joiners, tags).
    """
    text = json.dumps(document, ensure_ascii=False, indent=1, allow_nan=False)
    return _UNCOMMON.sub(_shown_or_escaped, text)


def _shown_or_escaped(found: re.Match[str]) -> str:
    character = found.group()
    hides = unicodedata.category(character) in ("Cc", "Cf", "Cs", "Zl", "Zp")
    return json.dumps(character)[1:-1] if hides else character


def _feedback_to_document(feedback: Feedback) -> dict[str, Any]:
    diagnosis = feedback.diagnosis
    return {
        "lesson": feedback.lesson,
        "exercise": feedback.exercise,
        "status": feedback.status,
        "score": _number(feedback.score),
        "max_score": _number(feedback.max_score),
        "mistakes": feedback.mistake_ids,
        "message": feedback.message,
        "line": feedback.line,
        "seconds": round(feedback.seconds, 3),
        "cell": feedback.cell,
        "file": feedback.file,
        "source_line": feedback.source_line,
        "lines_above": feedback.lines_above,
        "error": feedback.error,
        "title": feedback.title,
        "begun": feedback.begun,
        "kind": feedback.kind,
        "because": feedback.because,
        "other_name": feedback.other_name,
        "checks": [{**asdict(check), "points": _number(check.points)} for check in feedback.checks],
        "notes": list(feedback.notes),
        "printed": None if feedback.printed is None else asdict(feedback.printed),
        "printed_in": feedback.printed_in,
        "diagnosis": None
        if diagnosis == Diagnosis()
        else {**_diagnosis_to_document(diagnosis), "recipe": _recipe_to_document(diagnosis.recipe)},
    }


def _diagnosis_to_document(diagnosis: Diagnosis) -> dict[str, Any]:
    """Return the diagnosis without what hints alone tell, which no report of a class has."""
    document = asdict(diagnosis)
    for mistake in (*document["mistakes"], *filter(None, [document["near"]])):
        del mistake["own_edit"]
    return document


def _recipe_to_document(recipe: Recipe | None) -> dict[str, Any] | None:
    if recipe is None:
        return None
    return {
        **asdict(recipe),
        "got": [_coefficient(c) for c in recipe.got],
        "expected": [_coefficient(c) for c in recipe.expected],
        "residual": _coefficient(recipe.residual),
    }


def _number(value: float) -> float:
    return round(float(value), 6)


def _coefficient(value: float) -> float | str:
    """Round to six significant digits: enough to draw, and the same on every run.

    JSON has no NaN or infinity, so those become strings.
    """
    number = float(f"{value:.6g}")
    # Rounding noise of the least squares differs between processors and carries no information.
    if abs(number) < 1e-9:
        return 0.0
    return number if number - number == 0 else str(number)


# ---- reading ------------------------------------------------------------------------------------------


def from_json(text: str | bytes) -> ClassResult:
    """Read the text that `to_json` wrote.

    Raises:
        ResultsError: it is not JSON, has another schema, or is not shaped like results.
    """
    try:
        document = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise ResultsError(
            f"results.json을 읽을 수 없어요. JSON이 깨졌어요: {error}. 파일을 지우고 처음부터 채점해 주세요."
        ) from error
    schema = document.get("schema") if isinstance(document, dict) else None
    if schema != SCHEMA:
        ours = isinstance(schema, str) and schema.startswith("hanstep.results/")
        what = "다른 버전의 한 스텝이 쓴 results.json이에요" if ours else "한 스텝의 results.json이 아니에요"
        raise ResultsError(
            f"{what}. schema가 {schema!r}이고, 읽을 수 있는 것은 {SCHEMA!r}예요. 다른 --out 폴더를 골라 주세요."
        )
    entries = document.get("submissions")
    if not isinstance(entries, list):
        raise _misshapen(f"submissions: {type(entries).__name__}")
    read = tuple(submission_from_document(entry) for entry in entries)
    return replace(_read({**document, "submissions": ()}, ClassResult), submissions=read)


def results_before(out: Path) -> ClassResult | None:
    """Return the results that an earlier grading left in a folder; None if there are none that can be read."""
    try:
        return from_json((out / "results.json").read_bytes())
    except (OSError, ResultsError):
        return None


def submission_from_document(document: Any) -> SubmissionResult:
    """Read one entry that `submission_to_document` made.

    Raises:
        ResultsError: it is not shaped like that, its score is not the sum of its checks, or its mistake ids are not
            those of its diagnosis.
    """
    try:
        entries = [*document["exercises"], *document.get("extras", ())]
        named = [_as_read_expects(entry) for entry in entries]
        counted = len(document["exercises"])
        ours = {"feedbacks": named[:counted], "extras": named[counted:]}
        read = _read({**document, **ours}, SubmissionResult)
        if _number(read.score) != document["score"]:
            raise ValueError(f"{read.student}: score {document['score']}, checks {points(read.score)}")
        for feedback, entry in zip((*read.feedbacks, *read.extras), entries, strict=True):
            if feedback.mistake_ids != entry["mistakes"]:
                raise ValueError(
                    f"{feedback.exercise}: {entry['mistakes']}, diagnosis {feedback.mistake_ids}"
                )
    except (KeyError, TypeError, ValueError, AttributeError, OverflowError) as error:
        raise _misshapen(f"{type(error).__name__}: {error}") from error
    return read


def _as_read_expects(entry: Mapping[str, Any]) -> dict[str, Any]:
    """Prepare a feedback's document for `_read`: no entry for a missing diagnosis, coefficients as numbers."""
    named = dict(entry)
    diagnosis = named.pop("diagnosis")
    if diagnosis is not None:
        recipe = diagnosis["recipe"]
        if recipe is not None:
            numbers = {key: [float(c) for c in recipe[key]] for key in ("got", "expected")}
            recipe = {**recipe, **numbers, "residual": float(recipe["residual"])}
        named["diagnosis"] = {**diagnosis, "recipe": recipe}
    return named


def _read(document: object, kind: type[_Type]) -> _Type:
    try:
        return msgspec.convert(document, kind)
    # ValueError: a lone surrogate where a number should be.
    except (msgspec.ValidationError, ValueError) as error:
        raise _misshapen(str(error)) from error


def _misshapen(what: str) -> ResultsError:
    return ResultsError(f"results.json의 내용이 맞지 않아요 ({what}). 파일을 지우고 처음부터 채점해 주세요.")
