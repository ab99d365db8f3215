"""Results of a class as data: what grading produces, and `results.json`, written and read back whole."""

import json
import secrets
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, get_args

from grader.feedback import CheckResult, Departure, Diagnosis, Feedback, Moment, Named, Recipe, Status
from grader.report.words import points

SCHEMA = "hanstep.results/1"


class ResultsError(ValueError):
    """A results file that cannot be read; the message is Korean and says what to do."""


@dataclass(frozen=True)
class SubmissionResult:
    """Everything there is to say about one student."""

    student: str
    feedbacks: tuple[Feedback, ...]
    notes: tuple[str, ...] = ()
    """Korean lines about the files as a whole."""
    scrutiny: tuple[str, ...] = ()
    """Korean lines for the instructor alone: code that reaches for the grader."""
    digest: str = ""
    """Fingerprint of the files: a resumed run grades anew what has changed."""

    @property
    def score(self) -> float:
        """Points reached."""
        return sum(feedback.score for feedback in self.feedbacks)

    @property
    def max_score(self) -> float:
        """Points there are."""
        return sum(feedback.max_score for feedback in self.feedbacks)

    @property
    def passed(self) -> bool:
        """Whether every exercise passed."""
        return all(feedback.status == "passed" for feedback in self.feedbacks)


@dataclass(frozen=True)
class ClassResult:
    """One grading run."""

    seed: int
    device: str
    sandbox: str
    """`bwrap` or `none`."""
    submissions: tuple[SubmissionResult, ...]


# ---- writing ------------------------------------------------------------------------------------------


def to_json(result: ClassResult) -> str:
    """`results.json`: the same result gives the same bytes."""
    document = {
        "schema": SCHEMA,
        "seed": result.seed,
        "device": result.device,
        "sandbox": result.sandbox,
        "submissions": [submission_to_document(s) for s in result.submissions],
    }
    return dump(document) + "\n"


def write_results(path: Path, result: ClassResult) -> None:
    """Write `results.json` so that a reader finds the old file or the new one, never half of one."""
    write_text(path, to_json(result))


def submission_to_document(submission: SubmissionResult) -> dict[str, Any]:
    """One entry of `submissions`; the fixed fields first, what only this project reads after them."""
    return {
        "student": submission.student,
        "score": _number(submission.score),
        "max_score": _number(submission.max_score),
        "exercises": [_feedback_to_document(f) for f in submission.feedbacks],
        "notes": list(submission.notes),
        "scrutiny": list(submission.scrutiny),
        "digest": submission.digest,
    }


def dump(document: object) -> str:
    """JSON that is valid UTF-8 whatever students wrote: only lone surrogates are escaped."""
    text = json.dumps(document, ensure_ascii=False, indent=1, allow_nan=False)
    return "".join(f"\\u{ord(c):04x}" if "\ud800" <= c <= "\udfff" else c for c in text)


def write_text(path: Path, text: str, *, encoding: str = "utf-8") -> None:
    """Write through a temporary file beside it, so that a killed run leaves no half file."""
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f".{secrets.token_hex(6)}.tmp")
    try:
        with temporary.open("x", encoding=encoding, newline="") as file:
            file.write(text)
        temporary.replace(path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise


def _feedback_to_document(feedback: Feedback) -> dict[str, Any]:
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
        "error": feedback.error,
        "title": feedback.title,
        "checks": [[c.title, _number(c.points), c.passed] for c in feedback.checks],
        "notes": list(feedback.notes),
        "diagnosis": _diagnosis_to_document(feedback.diagnosis),
    }


def _diagnosis_to_document(diagnosis: Diagnosis) -> dict[str, Any] | None:
    if diagnosis == Diagnosis():
        return None
    d, r = diagnosis.departure, diagnosis.recipe
    return {
        "mistakes": [[list(n.ids), list(n.titles), n.explain, n.hint] for n in diagnosis.mistakes],
        "departure": None if d is None else [d.scenario, d.what, d.expected, d.got, d.update, d.tensor],
        "yours": [[m.kind, m.line, m.batch, m.differs] for m in diagnosis.yours],
        "right": [[m.kind, m.line, m.batch, m.differs] for m in diagnosis.right],
        "recipe": None
        if r is None
        else [
            r.update,
            list(r.batches),
            [_coefficient(c) for c in r.got],
            [_coefficient(c) for c in r.expected],
            _coefficient(r.residual),
            list(r.moved),
            r.scenario,
        ],
    }


def _number(value: float) -> float:
    return round(float(value), 6)


def _coefficient(value: float) -> float | str:
    """Six digits: enough to draw, and the same on every run; JSON has no NaN, so those are words."""
    number = float(f"{value:.6g}")
    # Rounding noise of least squares differs between processors, and says nothing.
    if abs(number) < 1e-9:
        return 0.0
    return number if number - number == 0 else str(number)


# ---- reading ------------------------------------------------------------------------------------------


def from_json(text: str | bytes) -> ClassResult:
    """Read what `to_json` wrote.

    Raises:
        ResultsError: it is no JSON, of another schema, or not shaped like results.
    """
    try:
        document = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise ResultsError(
            f"results.json을 읽을 수 없어요. JSON이 깨졌어요: {error}. 파일을 지우고 처음부터 채점해 주세요."
        ) from error
    schema = document.get("schema") if isinstance(document, dict) else None
    if schema != SCHEMA:
        raise ResultsError(
            f"한 스텝의 results.json이 아니에요. schema가 {schema!r}이고, 읽을 수 있는 것은 {SCHEMA!r}예요. "
            "다른 --out 폴더를 골라 주세요."
        )
    try:
        return ClassResult(
            seed=_typed(document["seed"], int),
            device=_typed(document["device"], str),
            sandbox=_typed(document["sandbox"], str),
            submissions=tuple(_submission(entry) for entry in _typed(document["submissions"], list)),
        )
    except (KeyError, TypeError, ValueError, IndexError, OverflowError) as error:
        raise _misshapen(error) from error


def submission_from_document(document: Any) -> SubmissionResult:
    """Read what `submission_to_document` made.

    Raises:
        ResultsError: it is not shaped like that.
    """
    try:
        return _submission(document)
    except (KeyError, TypeError, ValueError, IndexError, OverflowError) as error:
        raise _misshapen(error) from error


def _misshapen(error: Exception) -> ResultsError:
    return ResultsError(
        f"results.json의 내용이 맞지 않아요 ({type(error).__name__}: {error}). "
        "파일을 지우고 처음부터 채점해 주세요."
    )


def _submission(document: Mapping[str, Any]) -> SubmissionResult:
    read = SubmissionResult(
        student=_typed(document["student"], str),
        feedbacks=tuple(_feedback(entry) for entry in _typed(document["exercises"], list)),
        notes=_texts(document.get("notes", [])),
        scrutiny=_texts(document.get("scrutiny", [])),
        digest=_typed(document.get("digest", ""), str),
    )
    if _number(read.score) != _number(document["score"]):
        raise ValueError(f"{read.student}: score {document['score']}, checks {points(read.score)}")
    return read


def _feedback(document: Mapping[str, Any]) -> Feedback:
    status: Status = document["status"]
    if status not in get_args(Status):
        raise ValueError(f"status {status!r}")
    read = Feedback(
        lesson=_typed(document["lesson"], str),
        exercise=_typed(document["exercise"], str),
        title=_typed(document["title"], str),
        status=status,
        checks=tuple(
            CheckResult(_typed(title, str), float(worth), _typed(passed, bool))
            for title, worth, passed in document["checks"]
        ),
        message=_typed(document["message"], str),
        diagnosis=_diagnosis(document.get("diagnosis")),
        line=_optional(document["line"], int),
        cell=_optional(document.get("cell"), int),
        source_line=_optional(document.get("source_line"), str),
        file=_optional(document.get("file"), str),
        error=_optional(document.get("error"), str),
        notes=_texts(document.get("notes", [])),
        seconds=float(document["seconds"]),
    )
    if read.mistake_ids != document["mistakes"]:
        raise ValueError(f"{read.exercise}: mistakes {document['mistakes']}, diagnosis {read.mistake_ids}")
    return read


def _diagnosis(document: Mapping[str, Any] | None) -> Diagnosis:
    if document is None:
        return Diagnosis()
    departure, recipe = document["departure"], document["recipe"]
    return Diagnosis(
        mistakes=tuple(
            Named(_texts(ids), _texts(titles), _typed(explain, str), _typed(hint, str))
            for ids, titles, explain, hint in document["mistakes"]
        ),
        departure=None if departure is None else _departure(*departure),
        yours=_moments(document["yours"]),
        right=_moments(document["right"]),
        recipe=None if recipe is None else _recipe(*recipe),
    )


def _departure(scenario: Any, what: Any, expected: Any, got: Any, update: Any, tensor: Any) -> Departure:
    return Departure(
        scenario=_typed(scenario, str),
        what=_typed(what, str),
        expected=_typed(expected, str),
        got=_typed(got, str),
        update=_optional(update, int),
        tensor=_optional(tensor, str),
    )


def _recipe(
    update: Any,
    batches: Any,
    got: Any,
    expected: Any,
    residual: Any,
    moved: Any = (),
    scenario: Any = "",
) -> Recipe:
    if not len(batches) == len(got) == len(expected) or len(moved) not in (0, len(batches)):
        raise ValueError("recipe")
    return Recipe(
        update=_typed(update, int),
        batches=tuple(_typed(b, int) for b in batches),
        got=tuple(float(c) for c in got),
        expected=tuple(float(c) for c in expected),
        residual=float(residual),
        moved=tuple(_typed(away, bool) for away in moved),
        scenario=_typed(scenario, str),
    )


def _moments(documents: Sequence[Sequence[Any]]) -> tuple[Moment, ...]:
    return tuple(
        Moment(_typed(kind, str), _optional(line, int), _optional(batch, int), _typed(differs, bool))
        for kind, line, batch, differs in documents
    )


def _texts(values: Any) -> tuple[str, ...]:
    return tuple(_typed(value, str) for value in _typed(values, list))


def _typed(value: Any, kind: type[Any]) -> Any:
    if not isinstance(value, kind) or (kind is int and isinstance(value, bool)):
        raise TypeError(f"{value!r}: {kind.__name__}")
    return value


def _optional(value: Any, kind: type[Any]) -> Any:
    return None if value is None else _typed(value, kind)
