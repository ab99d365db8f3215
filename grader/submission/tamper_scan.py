"""Find submissions that an instructor should look at: code that tries to reach the grader's own objects.

A submission runs in the same process as the code that observes it, so no check inside that process is beyond its reach.
Two things are reported: names such as `_getframe` in the text, and acts that Python's audit hooks saw while the code
ran, however they were spelled (see `grader.sandbox.inside.suspicious_acts`). Neither costs points, because a debugger
does the same; the instructor is told and decides.
"""

import re
from collections.abc import Mapping, Sequence

from grader.submission.source_file import SourceFile
from grader.submission.submission import Submission

_SUSPICIOUS_NAMES = re.compile(
    r"\b(_getframe|currentframe|inspect\.(?:stack|trace)|f_back|f_globals|f_locals|tb_frame|gi_frame"
    r"|get_objects|get_referrers|get_referents|ctypes|__array_interface__|__array_struct__|settrace|setprofile"
    r"|__closure__|cell_contents"
    r"|__globals__|__self__|__wrapped__|observer|_forward_hooks|_forward_pre_hooks|_optimizer_step_pre_hooks"
    r"|grader\.(?:observe|exercises|sandbox))\b"
)
_SHOWN = 5
"""Maximum number of findings shown for one file; the rest is counted."""


def suspicious_lines(
    submission: Submission, seen: Mapping[str, Sequence[tuple[str, int]]] | None = None
) -> tuple[str, ...]:
    """Return one Korean line for each suspicious file, listing what was found and where; empty for nearly everyone.

    Only graded code is searched, including its comments and strings, because `exec` reads strings.

    Args:
        submission: the submission to search.
        seen: by file name, the acts observed while it ran, as (act, line): `("sys._getframe", 12)`.
    """
    lines = []
    for file in submission.files:
        acts = [f"{act}({_where(file, line)}, 실행 중)" for act, line in (seen or {}).get(file.name, ())]
        names = [
            f"{match.group()}({_where(file, number)})"
            for number, text in enumerate(file.text.split("\n"), start=1)
            for match in _SUSPICIOUS_NAMES.finditer(text)
        ]
        found = [*dict.fromkeys(acts), *names]
        if found:
            more = f" 등 {len(found)}곳" if len(found) > _SHOWN else ""
            lines.append(f"{file.name}: {', '.join(found[:_SHOWN])}{more}")
    return tuple(lines)


def _where(file: SourceFile, line: int) -> str:
    """Return the place of a line of `file.text` in Korean, as the learner counts cells and lines."""
    place = file.nearest_place(line)
    return f"{'' if place.cell is None else f'셀 {place.cell}의 '}{place.line}번째 줄"
