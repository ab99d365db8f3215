"""Word what happened in a run because of a mistake, without what the mistake is: its symptom."""

import re

from grader.course.feedback import NO_EXCEPTION, UPDATE_COUNT, Feedback, FirstDifference, NamedMistake
from grader.observe.wording import particle, times, yes_or_no
from grader.report import formulas
from grader.report.plain_text import one_line

_YES_OR_NO = (yes_or_no(True), yes_or_no(False))
_LONGEST_VALUE = 30
"""Maximum characters of a value that a symptom quotes."""
_NOTE_BEHIND = re.compile(r" ?\((?:[^()]|\([^()]*\))*\)$")
"""Matches a note in parentheses at the end of a text; a particle behind it follows the word before it."""
_WRONG = "결과가 정답과 달라요"


def symptom(named: NamedMistake) -> str:
    """Return what happened because of a mistake: what the course says of this run, or else what differs in it.

    The Korean sentences end with a full stop.
    """
    if named.symptom:
        return named.symptom
    return f"{_WRONG if named.difference is None else difference_in_words(named.difference)}."


def measured(feedback: Feedback, named: NamedMistake) -> list[str]:
    """Return what was measured in a scenario that shows the mistake, a Korean sentence each; may be empty."""
    first, recipe, shown = (named.difference, feedback.diagnosis.recipe, feedback.diagnosis.first_difference)
    is_here = recipe and shown and (recipe.scenario or shown.scenario) in named.scenarios
    found = [] if first is None or not named.symptom else [difference_in_words(first)]
    if recipe is not None and is_here and formulas.explains_mistake(recipe):
        found += [formulas.recipe_line(recipe), formulas.recipe_sentence(recipe)]
    elif first is not None and first.tensor is not None:
        found += [f"가장 많이 다른 값: {_both_values(first)}"]
    elif first is not None and _has_measured_numbers(first):
        found += [_both_values(first)]
    return [f"{sentence.removesuffix('.')}." for sentence in found if sentence]


def difference_in_words(first: FirstDifference) -> str:
    """Return a difference as one Korean sentence without a full stop.

    It quotes counts and words. Of other numbers nobody could tell what they mean, and the name of a tensor's element
    says nothing either.
    """
    what, got, expected = (one_line(text) for text in (first.what, first.got, first.expected))
    if first.tensor is not None:
        return what
    if what == UPDATE_COUNT:
        changed = "한 번도 바뀌지 않았어요" if got == times(0) else f"{got} 바뀌었어요"
        return f"매개변수가 정답에서는 {expected} 바뀌는데, 내 코드에서는 {changed}"
    if NO_EXCEPTION in (got, expected):
        raised = f"예외가 났어요 ({got.partition(':')[0]})"
        return f"{what}에서 " + (
            raised if expected == NO_EXCEPTION else f"예외({expected})가 나야 하는데 그냥 끝났어요"
        )
    if {got, expected} == set(_YES_OR_NO):
        return f"‘{what}’: {_both_values(first)}"
    told = (
        f"{what} 결과가 달라요"
        if what.endswith("때")
        else f"{what}{particle(_NOTE_BEHIND.sub('', what), '이/가')} 정답과 달라요"
    )
    return f"{told} ({_both_values(first)})" if _is_telling(got) and _is_telling(expected) else told


def _both_values(first: FirstDifference) -> str:
    return f"내 코드는 {one_line(first.got, 120)}, 정답은 {one_line(first.expected, 120)}"


def _is_telling(value: str) -> bool:
    """Return True for a short word or a whole number; a measured number says nothing by itself."""
    return len(value) <= _LONGEST_VALUE and not _is_measured(value)


def _has_measured_numbers(first: FirstDifference) -> bool:
    return _is_measured(first.got) or _is_measured(first.expected)


def _is_measured(value: str) -> bool:
    """Return True for a number that is no whole one."""
    try:
        return not float(value).is_integer()
    except (ValueError, OverflowError):  # a word, `nan` or `inf`
        return False
