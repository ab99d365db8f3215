"""Say something true and helpful about a line of the clinic's code that is not the one to change."""

import ast

from grader.observe.wording import with_particle
from grader.practice.case import Case
from grader.practice.counter_evidence import about_line
from grader.practice.culprits import Fault, lines_of_code
from grader.report.plain_text import one_line

_MOST_CODE = 60
"""Maximum characters of a line that is quoted."""
_KINDS: dict[Fault, str] = {
    "missing": "있어야 할 것이 빠졌으니, 빠진 자리의 앞이나 뒤의 줄을 고르세요.",
    "moved": "줄마다 내용은 맞지만 차례가 틀렸어요.",
    "indented": "줄마다 내용은 맞지만 들여쓰기가 틀렸어요.",
    "wrong": "내용이 틀린 줄이나 없어야 할 줄을 찾으세요.",
}
"""What is wrong with the code -> what to look for."""


def on_wrong_line(case: Case, line: int, *, kind: bool) -> str:
    """Return Korean sentences on a line that is not to be changed, and on where to look instead.

    Args:
        case: the case; it has lines to change.
        line: number of the other line, from 1.
        kind: say what kind of fault it is, too.
    """
    sentences = [*filter(None, (_about(case, line), _direction(case.lines, line)))]
    if kind:
        sentences.append(_KINDS[case.fault])
    return " ".join(sentences)


def _about(case: Case, line: int) -> str:
    """Return what is true of the line: the right program has it, too, or it does nothing."""
    code = case.text.splitlines()[line - 1].strip()
    tree = ast.parse(case.text)
    if line not in lines_of_code(case.text):
        return "docstring에는 틀린 것이 없어요." if code else "빈 줄이에요."
    if any(isinstance(node, ast.Import | ast.ImportFrom) and node.lineno == line for node in tree.body):
        return "import에는 틀린 것이 없어요."
    if line == tree.body[-1].lineno:
        return "함수의 이름과 인자는 맞아요." if not case.is_class else "클래스의 이름은 맞아요."
    told = f"{with_particle(f'`{one_line(code, _MOST_CODE)}`', '은/는')} 정답에도 있는 줄이에요."
    return " ".join(filter(None, (told, about_line(case, line))))


def _direction(lines: frozenset[int], line: int) -> str:
    """Return whether the lines to change are above this one or below it; empty if there are some on both sides."""
    if line < min(lines):
        return "볼 곳은 더 아래예요."
    return "볼 곳은 더 위예요." if line > max(lines) else ""
