"""Find the advice on an exception in the table.

The first entry of `ADVICE` whose pattern fits answers. `tests/report/test_exception_advice.py` raises every error for
real, so that a new wording in PyTorch fails a test.
"""

import re

from grader.course.reading import load_course
from grader.observe.wording import AFTER_THE_CALL, LEAVE_ORIGINALS, particle
from grader.report.exceptions.entry import Advice
from grader.report.exceptions.python_errors import IMPORTS, PYTHON_ERRORS
from grader.report.exceptions.torch_errors import TORCH_ERRORS

_GRADER_ERRORS = (
    Advice(
        "replaced-originals",
        rf"\w+: .*{re.escape(LEAVE_ORIGINALS)}",
        "torch나 NumPy, 채점기의 함수를 다른 것으로 바꾸는 줄을 지우고 다시 내 주세요.",
    ),
    Advice(
        "left-behind",
        rf"\w+: {re.escape(AFTER_THE_CALL)}",
        "함수가 끝난 뒤에 난 예외예요. 돌려주는 값의 타입이 문제와 같은지, 모델이나 옵티마이저의 속성을 다른 "
        "값으로 바꿔 놓지 않았는지 보세요.",
    ),
    Advice(
        "missing-on-ranks",
        r"(?:AttributeError|NotImplementedError): 채점할 때의 `",
        "진짜 프로세스에는 있고 채점할 때만 없는 것이라, 틀린 코드는 아니에요. 예외에 적힌 것으로 바꿔 쓰세요.",
    ),
    Advice(
        "waits-without-end",
        r"Deadlock: ",
        "짝이 없는 통신을 기다렸어요. rank에 따라 갈리는 `if`와 `continue`, 되풀이하는 횟수부터 보고, 모든 rank가 같은 "
        "통신을 같은 순서로 부르게 하세요. `send`와 `recv`라면 한쪽이 보낼 때 다른 쪽이 받아야 해요.",
    ),
)
ADVICE = (*_GRADER_ERRORS, *TORCH_ERRORS, *PYTHON_ERRORS)
"""All entries; the first that fits answers."""


_ON_NAMES = ("unknown-name", "self-too-early", "attribute-of-a-module", "attribute")
"""Entries on a name that does not exist: one that nearly exists is the better advice."""


def _without_suggestion(error: str) -> tuple[str, str | None]:
    """Part an exception from the name that Python suggests at its end; None if it suggests none."""
    match = re.fullmatch(r"(?s)((?:Name|Attribute)Error: .*)\. Did you mean: '(\w+)'\?", error)
    return (match[1], match[2]) if match else (error, None)


class _Word(str):
    """A word of the exception, to be put into an advice."""

    def __format__(self, forms: str) -> str:
        """Format as the particle that follows the word (`{name:은/는}`), or as the word itself (`{name}`)."""
        return particle(self, forms) if forms else str(self)


def entry_for(error: str, source_line: str | None) -> tuple[Advice, re.Match[str]] | None:
    """Return the entry that answers an exception, with the match of its pattern; None if no entry does.

    Args:
        error: `Type: message`.
        source_line: the learner's line that raised it; None if it was raised before any line ran.
    """
    for entry in ADVICE:
        match = re.match(entry.pattern, error, re.DOTALL)
        if match is not None:
            words = {name: re.escape(word) for name, word in match.groupdict("").items()}
            if re.search(entry.line.format(**words), source_line or ""):
                return entry, match
    return None


def advise(error: str, source_line: str | None) -> str | None:
    """Return the Korean advice on an exception; None if no entry answers it.

    Args:
        error: `Type: message`.
        source_line: the learner's line that raised it; None if it was raised before any line ran.
    """
    error, near = _without_suggestion(error)
    found = entry_for(error, source_line)
    if found is None:
        return None
    entry, match = found
    name = match.groupdict().get("name") or ""
    if error.startswith("NameError") and name in load_course().exercises:
        return (
            f"`{name}`{particle(name, '은/는')} 여기에 없는 함수예요. 다른 노트북에서 쓴 함수는 부를 수 없으니, "
            "필요한 줄을 이 함수 안에 다시 쓰세요."
        )
    if near is not None and near.startswith(f"{name}_") and error.startswith("NameError"):
        return f"`{name}`에 값을 담은 줄이 없어요. 앞에서 구한 값을 `{name} = …`처럼 담았는지 보세요."
    if near is not None and entry.id in _ON_NAMES:
        unknown = f"`{name}`{particle(name, '이라는/라는')} 이름은 없어요."
        return f"{unknown} `{near}`{particle(near, '을/를')} 쓰려던 건가요?"
    words = {name: _Word(word) for name, word in match.groupdict("").items()}
    return entry.text.format(**words, import_line=IMPORTS.get(words.get("name", _Word()), ""))
