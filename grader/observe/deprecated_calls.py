"""Note the calls of names that torch is about to drop, such as `clip_grad_norm` without its underscore.

Such a call still works, so it costs no points; a learner should read of the new name nevertheless, as a notebook shows
the warning for code that no check runs.
"""

import re
import warnings
from collections.abc import Sequence

from grader.observe.program import Program
from grader.observe.wording import with_particle

_CATEGORIES = (FutureWarning, DeprecationWarning, PendingDeprecationWarning)
_IS_ABOUT_TORCH = re.compile(r"\btorch\b|deprecat", re.IGNORECASE)
_NAME = re.compile(r"`([^`]+)`")
"""Matches a name in a warning of torch: first the old one, last the new one."""
_MAX_CHARS = 300
"""Maximum characters of a warning that is quoted; the sandbox refuses traces with longer ones."""
_MAX_NOTES = 10
"""Maximum number of notes about deprecated calls; a line can warn as often as it runs."""


def note_deprecated_calls(program: Program, caught: Sequence[warnings.WarningMessage]) -> None:
    """Add a Korean line to the program's warnings for each of its calls that is deprecated, once for each new name.

    Args:
        program: the learner's program; only calls in its own lines are told.
        caught: the warnings that it raised.
    """
    for warning in caught:
        text = " ".join(str(warning.message).split())
        is_told = issubclass(warning.category, _CATEGORIES) and _IS_ABOUT_TORCH.search(text)
        if not is_told or not program.owns(warning.filename):
            continue
        advice = _advice(text[:_MAX_CHARS])
        if sum(_ADVICE_ENDS in told for told in program.warnings) >= _MAX_NOTES:
            return
        if not any(told.endswith(advice) for told in program.warnings):
            program.warnings.append(f"{warning.lineno}번째 줄: {advice}")


_ADVICE_ENDS = "점수는 그대로예요."


def _advice(text: str) -> str:
    """Return a Korean sentence on the new name; the warning itself where it does not name both."""
    names = _NAME.findall(text)
    if len(names) < 2 or names[0] == names[-1]:
        return f"torch가 앞으로 없앨 방법이라고 알려요 ({text}). {_ADVICE_ENDS}"
    old, new = with_particle(f"`{names[0]}`", "은/는"), with_particle(f"`{names[-1]}`", "을/를")
    return f"{old} 앞으로 없어질 이름이에요. 대신 {new} 쓰세요. {_ADVICE_ENDS}"
