"""Which submissions a person should look at: code that reaches for the grader instead of the exercise.

A submission runs in the same process as the code that observes it, so that no check inside is beyond its reach. To
reach it, a submission must use certain names, such as `_getframe`. They cost no points (a debugger uses them too),
but the instructor is told.
"""

import re

from grader.submission.submission import Submission

_REACHING = re.compile(
    r"\b(_getframe|currentframe|inspect\.(?:stack|trace)|f_back|f_globals|f_locals|tb_frame|gi_frame"
    r"|get_objects|get_referrers|ctypes|settrace|setprofile|__closure__|cell_contents"
    r"|__globals__|__self__|__wrapped__|observer|_forward_hooks|_forward_pre_hooks|_optimizer_step_pre_hooks"
    r"|grader\.(?:observe|exercises|sandbox))\b"
)
_SHOWN = 5


def reaches_for_the_grader(submission: Submission) -> tuple[str, ...]:
    """Korean lines, one for each file, that say which such names stand where; empty for nearly everyone.

    Only graded code is searched, with its comments and strings: `exec` reads strings.
    """
    lines = []
    for file in submission.files:
        found = []
        for number, text in enumerate(file.text.split("\n"), start=1):
            for match in _REACHING.finditer(text):
                place = file.place(number)
                cell = "" if place.cell is None else f"셀 {place.cell}의 "
                where = f"{cell}{place.line}번째 줄"
                found.append(f"{match.group()}({where})")
        if found:
            more = f" 등 {len(found)}곳" if len(found) > _SHOWN else ""
            lines.append(f"{file.name}: {', '.join(found[:_SHOWN])}{more}")
    return tuple(lines)
