"""Say in Korean what kind of syntax error Python found, what to do about it, and which lines to look at."""

import re
import unicodedata
from collections.abc import Callable
from typing import NamedTuple

from grader.observe.wording import with_particle

_MAX_BESIDE = 3
"""Maximum lines shown beside a line; blank ones may separate two lines whose indentation clashes."""


class SyntaxErrorNote(NamedTuple):
    """What to tell of a syntax error."""

    message: str
    """Korean sentences: what is wrong, then what to do."""
    line: int
    """Line to look at, from 1."""
    above: int = 0
    """Number of lines to show above it: the error is visible only in comparison with the first of them."""
    below: int = 0
    """Number of lines to show below it: the error is visible only in comparison with the last of them."""


def tell_syntax_error(error: SyntaxError, text: str) -> SyntaxErrorNote:
    """Describe an error that `ast.parse` raised for `text`."""
    lines = text.split("\n")
    number = min(max(error.lineno or 1, 1), len(lines))
    line = lines[number - 1]
    if (message := _message_on_recognized(line)) is not None:
        return SyntaxErrorNote(message, number)
    if isinstance(error, IndentationError):
        return _wrong_indentation(error, lines, number)
    message = error.msg or ""
    if message.startswith("expected ':'"):
        return SyntaxErrorNote(_missing_colon(line), number)
    for pattern, describe in _MESSAGES_WITH_DETAILS:
        if found := re.match(pattern, message):
            return SyntaxErrorNote(describe(found), number)
    for pattern, what, remedy in _MESSAGES:
        if re.match(pattern, message):
            return SyntaxErrorNote(f"{what} {remedy}", number)
    place = _place(error, line)
    near = f"{place} 앞뒤에서 " if place else ""
    told = f"Python이 읽을 수 없는 줄이에요. {near}빠뜨리거나 잘못 쓴 기호가 없는지 살펴봐 주세요."
    return SyntaxErrorNote(told, number)


def _wrong_indentation(error: IndentationError, lines: list[str], number: int) -> SyntaxErrorNote:
    """Describe a wrong indentation at line `number`; it is visible only beside the line above.

    For a block without lines, the line to look at is the one that opens it.
    """
    message = error.msg or ""
    if match := re.match(r"expected an indented block after .* on line (\d+)", message):
        opening = min(max(int(match[1]), 1), len(lines))
        what = f"{_quoted(lines[opening - 1])} 아래에 들여 쓴 줄이 없어요."
        remedy = "그 안에 들어갈 줄을 빈칸 4개만큼 들여 써 주세요."
        return SyntaxErrorNote(f"{what} {remedy}", opening, below=_if_near(number - opening))
    if isinstance(error, TabError):
        what = "들여쓰기에 탭과 빈칸이 섞여 있어요."
        remedy = "탭을 모두 빈칸 4개로 바꿔 주세요."
    elif message.startswith("unindent"):
        what = "들여쓰기가 위의 어느 줄과도 맞지 않아요."
        remedy = "같은 블록의 줄끼리 첫 칸을 맞춰 주세요."
    else:
        what = "들여쓰기가 앞줄보다 깊어요."
        remedy = "앞줄과 첫 칸을 맞춰 주세요."
    above = next((n for n in range(number - 1, 0, -1) if not _is_blank_or_comment(lines[n - 1])), number)
    return SyntaxErrorNote(f"{what} {remedy}", number, above=_if_near(number - above))


def _if_near(distance: int) -> int:
    """Return the distance of two lines to show together; 0 if they are too far apart."""
    return distance if 0 <= distance <= _MAX_BESIDE else 0


def _is_blank_or_comment(line: str) -> bool:
    return not line.strip() or line.lstrip().startswith("#")


def _quoted(code: str) -> str:
    """Return a piece of the learner's code between backticks, shortened."""
    code = " ".join(code.replace("`", "'").split())
    return f"`{code if len(code) <= 60 else code[:59] + '…'}`"


def _place(error: SyntaxError, line: str) -> str:
    """Return the code at which Python stopped reading, quoted; empty if it was the end of the line."""
    start = max((error.offset or 1) - 1, 0)
    end = error.end_offset or 0
    rest = line[start : end - 1 if error.end_lineno == error.lineno and end - 1 > start else start + 1]
    return _quoted(rest) if rest.strip() and rest.isprintable() else ""


_RECOGNIZED_LINES = (
    (
        r"\s*(?:>>>|\.\.\.\s|In ?\[\d*\]:)",
        "줄 앞에 프롬프트(`>>>`, `...`, `In [1]:`)가 남아 있어요.",
        "프롬프트를 지우고 코드만 남겨 주세요.",
    ),
    (
        r"(?:<{7}|={7}|>{7})(?: |$)",
        "Git 병합 충돌 표시가 남아 있어요.",
        "남길 쪽을 고르고 표시 줄을 지워 주세요.",
    ),
    (r"\s*(?:`{3}|~{3})", "Markdown의 ``` 줄이 남아 있어요.", "그 줄을 지우고 코드만 남겨 주세요."),
    (r"\s*else\s+if\b", "Python에는 `else if`가 없어요.", "`elif`로 써 주세요."),
    (r"[^'\"#]*(?:\+\+|--)\s*;?\s*$", "Python에는 `++`와 `--`가 없어요.", "`i += 1`처럼 써 주세요."),
    (r"[^'\"#]*(?:&&|\|\|)", "Python에는 `&&`와 `||`가 없어요.", "`and`와 `or`로 써 주세요."),
    (
        r"\s*+(?=[^\s=(\[#'\"`]*[가-힣])[^\s=(\[]++\s*+(?![=+\-*/.(\[:,])",
        "코드가 아니라 글이에요.",
        "지우거나, 설명이라면 줄 앞에 `#`을 붙여 주세요.",
    ),
)
"""Start of a line that does not parse -> what it is and what to do, whatever Python says of it."""


def _message_on_recognized(line: str) -> str | None:
    """Return what to say of a line that is recognized by its text; None for any other."""
    return next(
        (f"{what} {remedy}" for pattern, what, remedy in _RECOGNIZED_LINES if re.match(pattern, line[:500])),
        None,
    )


def _never_closed(found: re.Match[str]) -> str:
    closing = {"(": ")", "[": "]", "{": "}"}[found[1]]
    return f"괄호 `{found[1]}`를 열고 닫지 않았어요. 짝이 되는 `{closing}`를 넣어 주세요."


def _wrong_character(found: re.Match[str]) -> str:
    character = found[1]
    usual = _KEYBOARD_CHARACTERS.get(character) or unicodedata.normalize("NFKC", character)
    told = f"코드에 쓸 수 없는 글자 `{character}`가 있어요. 웹 페이지나 문서에서 복사할 때 자주 따라와요."
    return told + (f" `{usual}`로 다시 쳐 주세요." if usual != character else " 지우고 다시 쳐 주세요.")


_KEYBOARD_CHARACTERS = {
    **dict.fromkeys("“”„", '"'),
    **dict.fromkeys("‘’′", "'"),
    **dict.fromkeys("–—−", "-"),
    **{"×": "*", "…": "..."},
}
"""Character of typeset text -> what a keyboard has for it."""


def _missing_colon(line: str) -> str:
    word = re.match(r"\s*(?:async\s+)?(\w+)", line)
    what = with_particle(f"`{word[1]}`", "으로/로") if word else "이렇게"
    return f"`:`이 빠졌어요. {what} 시작하는 줄은 `:`으로 끝나야 해요."


def _python_2(found: re.Match[str]) -> str:
    return f"Python 2의 `{found[1]}` 문이에요. `{found[1]}(...)`처럼 괄호를 써 주세요."


def _unmatched(found: re.Match[str]) -> str:
    return f"닫는 괄호 `{found[1]}`의 짝이 없어요. 여는 괄호를 넣거나 닫는 괄호를 지워 주세요."


def _wrong_pair(found: re.Match[str]) -> str:
    return f"`{found[2]}`로 연 괄호를 `{found[1]}`로 닫았어요. 짝을 맞춰 주세요."


def _invisible_character(found: re.Match[str]) -> str:
    told = f"눈에 보이지 않는 글자({found[1]})가 있어요. 복사할 때 자주 따라와요."
    return f"{told} 그 자리의 빈칸을 지우고 다시 쳐 주세요."


_MESSAGES_WITH_DETAILS: tuple[tuple[str, Callable[[re.Match[str]], str]], ...] = (
    (r"'([(\[{])' was never closed", _never_closed),
    (r"unmatched '(.)'", _unmatched),
    (r"closing parenthesis '(.)' does not match opening parenthesis '(.)'", _wrong_pair),
    (r"invalid character '(.)'", _wrong_character),
    (r"invalid non-printable character (U\+\w+)", _invisible_character),
    (r"Missing parentheses in call to '(\w+)'", _python_2),
)
"""Start of Python's message -> function of the match that says what it is and what to do."""

_MESSAGES = (
    (
        r"unterminated triple-quoted",
        "따옴표 세 개로 연 문자열을 닫지 않았어요.",
        "끝나는 곳에 같은 따옴표 세 개를 넣어 주세요.",
    ),
    (
        r"unterminated (?:f-)?string",
        "따옴표를 열고 닫지 않았어요.",
        "문자열이 끝나는 곳에 같은 따옴표를 넣어 주세요.",
    ),
    (
        r"expression cannot contain assignment",
        "함수를 부르는 괄호 안에서 `=`의 왼쪽에는 매개변수의 이름만 올 수 있어요.",
        "값만 줄 것이면 `=`와 그 왼쪽을 지우고, 두 값이 같은지 보려던 것이면 `==`로 써 주세요.",
    ),
    (
        r"(?:invalid syntax|cannot assign to .*)\. Maybe you meant '=='",
        "`=`는 왼쪽의 변수에 값을 넣는 기호예요.",
        "두 값이 같은지 보려면 `==`로 써 주세요.",
    ),
    (
        r"cannot assign to",
        "`=`의 왼쪽에는 변수 이름이 와야 해요.",
        "왼쪽과 오른쪽이 바뀌지 않았는지 봐 주세요.",
    ),
    (
        r"multiple exception types must be parenthesized",
        "`except`에 쉼표를 쓰려면 괄호가 있어야 해요.",
        "예외를 변수에 담으려면 `except E as e:`, 예외가 여럿이면 `except (A, B):`로 써 주세요.",
    ),
    (
        r"invalid syntax\. Perhaps you forgot a comma",
        "쉼표(`,`)나 닫는 괄호가 빠진 것 같아요.",
        "값과 값 사이를 살펴봐 주세요.",
    ),
    (
        r"expected '\('",
        "함수 이름 뒤에 괄호가 없어요. 이름에는 빈칸을 쓸 수 없어요.",
        "`def 이름(인자):`처럼 써 주세요.",
    ),
    (
        r"expected 'except' or 'finally'",
        "`try`에 짝이 되는 `except`가 없어요.",
        "`except`를 넣거나 `try`를 지워 주세요.",
    ),
    (
        r"f-string",
        "f-문자열의 중괄호 안이 맞지 않아요.",
        "`{`와 `}`의 짝과 그 안의 식을 확인해 주세요.",
    ),
    (
        r"'(?:return|yield|await)[^']*' outside",
        "함수 밖에 있는 줄이에요.",
        "함수 안에 있어야 하는 줄이면 그 함수의 다른 줄과 첫 칸을 맞춰 들여 써 주세요.",
    ),
    (
        r"unexpected character after line continuation",
        "`\\`는 줄의 맨 끝에만 쓸 수 있어요.",
        "`\\` 뒤의 글자를 지워 주세요.",
    ),
    (
        r"invalid decimal literal",
        "이름은 숫자로 시작할 수 없고, 숫자 바로 뒤에 글자를 붙일 수 없어요.",
        "이름이나 숫자를 고쳐 주세요.",
    ),
    (r"leading zeros", "0이 아닌 정수는 `0`으로 시작할 수 없어요.", "앞의 `0`을 지워 주세요."),
    (
        r"positional argument follows",
        "`이름=값`으로 준 인자 뒤에 이름 없는 인자가 왔어요.",
        "이름 없는 인자를 앞으로 옮겨 주세요.",
    ),
    (
        r"(?:non-default argument|parameter without a default) follows",
        "기본값이 있는 매개변수 뒤에 기본값이 없는 매개변수가 왔어요.",
        "두 매개변수의 순서를 바꿔 주세요.",
    ),
)
"""Start of Python's message -> what it is and what to do."""
