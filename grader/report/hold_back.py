"""Tell a named mistake step by step: its symptom, its place, its repair; and a card that holds the repair back.

Both tell the same sentences, those of the mistake that are true of the run, in another order.
"""

from dataclasses import replace
from typing import Any

from grader.course.feedback import Feedback, NamedMistake, Repair, SubmissionResult
from grader.observe.wording import one_of
from grader.report import words
from grader.report.symptoms import measured, symptom

HINT_NAMES = ("증상", "볼 곳", "고칠 것")
"""Korean names of the hints of a mistake, in their order: symptom, place, repair."""
_NO_PLACE: Any = {"line": None, "cell": None, "source_line": None}
_MOST_CHARACTERS = 2_000
"""Maximum length of a hint: it is kept with the learner's progress."""


def without_repair(feedback: Feedback, *, keeps_lines: bool = False) -> Feedback:
    """Return the feedback with the symptom of each named mistake instead of its name, its cause and its line.

    The order of the right events is left out, too, because it shows what is missing. Points stay, and the line where an
    exception of Python's came up: Python tells it anyway.

    Args:
        feedback: the feedback.
        keeps_lines: leave the lines, for a text without hints that would tell them later.
    """
    held = tuple(_only_symptom(_measured_somewhere(named, feedback)) for named in feedback.diagnosis.mistakes)
    if not held:
        return feedback
    diagnosis = replace(
        feedback.diagnosis, mistakes=held, yours=(), right=(), order_scenario="", repair=(), repair_leaves=()
    )
    told = replace(feedback, diagnosis=diagnosis, message=" + ".join(named.titles[0] for named in held))
    if keeps_lines:
        return told
    placeless = tuple(replace(named, **_NO_PLACE, before=False, after=False) for named in held)
    told = replace(told, diagnosis=replace(diagnosis, mistakes=placeless))
    is_pythons = feedback.error is not None and not feedback.raised
    return told if is_pythons else replace(told, **_NO_PLACE, lines_above=0)


def as_told(submission: SubmissionResult, repair: Repair) -> SubmissionResult:
    """Return the submission as its student reads it in texts that cannot fold hints."""
    if repair == "at-once":
        return submission
    held, extras = (
        tuple(without_repair(feedback, keeps_lines=True) for feedback in feedbacks)
        for feedbacks in (submission.feedbacks, submission.extras)
    )
    return replace(submission, feedbacks=held, extras=extras)


def _measured_somewhere(named: NamedMistake, feedback: Feedback) -> NamedMistake:
    """Return the mistake with a measured difference; results of an earlier version have only the feedback's."""
    return replace(named, difference=named.difference or feedback.diagnosis.first_difference)


def _only_symptom(named: NamedMistake) -> NamedMistake:
    first, rest = words.first_sentence(symptom(named))
    return replace(named, titles=(first,), explain=rest, hint="", mend="", right_lines=())


def mistake_hints(feedback: Feedback, named: NamedMistake) -> tuple[str, str, str]:
    """Return the three hints of a mistake that the feedback names, as Markdown: see `HINT_NAMES`."""
    named = _measured_somewhere(named, feedback)
    found = [f"· {line}" for line in measured(feedback, named)]
    where = f" (상황: {named.difference.scenario})" if named.difference is not None else ""
    evidence = [f"이번 실행에서 잰 것{where}", *found] if found else []
    return (
        "\n".join([symptom(named), *evidence])[:_MOST_CHARACTERS],
        _place(named)[:_MOST_CHARACTERS],
        _repair(named)[:_MOST_CHARACTERS],
    )


def _place(named: NamedMistake) -> str:
    """Return the line, and what to look at there."""
    return "\n".join(filter(None, (*_own_line(named), named.hint)))


def _own_line(named: NamedMistake) -> tuple[str, str]:
    """Return where to look, and the learner's line there as code; empty where they are not known."""
    code = _code(named.source_line.strip()) if named.source_line and named.line is not None else ""
    return words.look_at(named), code


def _repair(named: NamedMistake) -> str:
    """Return the mistake's name and cause, how to mend it, and the lines that the solution has there."""
    alike = "" if len(named.titles) == 1 else f" {words.INSEPARABLE}"
    told = f"{one_of(named.titles)}.{alike} {named.explain}"
    return "\n".join(filter(None, (told, named.mend, _right_lines(named))))


def _right_lines(named: NamedMistake) -> str:
    """Return the lines that the solution has at the mistake's place; empty if it has none."""
    if not named.right_lines:
        return ""
    return f"정답에서는 이렇게 써요.\n{_code(chr(10).join(named.right_lines))}"[:_MOST_CHARACTERS]


def _code(text: str) -> str:
    return f"```python\n{text.replace('```', '` ` `')}\n```"
