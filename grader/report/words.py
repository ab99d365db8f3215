"""What every report says in the same words: headlines, formulas, places, both orders of events side by side.

Text and HTML draw from here, so that a terminal and a page never tell two stories.
"""

import math
import re
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass

from grader.feedback import NOT_BEGUN, Departure, Feedback, Moment, Named, Recipe, Status

MARKS: dict[Status, str] = {
    "passed": "✓",
    "failed": "✗",
    "error": "✗",
    "timeout": "!",
    "memory": "!",
    "crashed": "!",
    "output": "!",
    "missing": "–",
    "unreadable": "!",
}

STATUS_NAMES: dict[Status, str] = {
    "passed": "통과",
    "failed": "실패",
    "error": "예외",
    "timeout": "시간 초과",
    "memory": "메모리 초과",
    "crashed": "강제 종료",
    "output": "출력 초과",
    "missing": "답안 없음",
    "unreadable": "읽을 수 없음",
}

UNNAMED = "처음 보는 실수예요"
EMPTY, _, FILL_IN = NOT_BEGUN.partition(". ")
INSEPARABLE = "움직임이 똑같아서 밖에서는 구별되지 않아요."
SAME_ORDER = "실행 순서는 정답과 같아요. 순서가 아니라 값이 달라요."

NOTHING_HAPPENED = "내 코드에서는 실행된 것이 없어요."

NEXT_STEPS: dict[Status, str] = {
    "passed": "",
    "failed": "",
    "error": "예외가 난 줄에서 값의 자료형과 모양(shape)부터 출력해 보세요.",
    "timeout": "`while` 조건이 언젠가 거짓이 되는지, 끝이 없는 제너레이터를 끝까지 읽으려 하지 않는지 보세요.",
    "memory": "계산 그래프가 달린 텐서를 리스트에 모으면 메모리가 계속 늘어요. "
    "숫자만 필요하면 `.item()`으로 꺼내세요.",
    "crashed": "`exit()`나 `os._exit()`를 부르는 곳이 없는지, 재귀가 끝나는지 보세요.",
    "output": "`print`는 반복문 밖으로 옮기거나, 몇 번에 한 번만 부르세요.",
    "missing": "함수 이름을 바꾸거나 셀을 지우지 않았는지 보고, 저장한 다음 다시 내 주세요.",
    "unreadable": "Jupyter에서 파일을 열어 다시 저장한 다음 내 주세요. `.py` 파일은 UTF-8로 저장하세요.",
}

_AFTER_EXCEPTION = {
    "NameError": "이름의 철자를 확인하세요. 함수 밖에서 만든 변수라면 함수 안에서 만들거나 인자로 받으세요.",
    "UnboundLocalError": "그 변수에 값을 넣는 줄이 먼저 실행되는지 보세요.",
    "ImportError": "그 패키지 없이 쓸 수 있는지 보세요. 채점하는 컴퓨터에는 이 강의에 필요한 패키지만 있어요.",
    "ModuleNotFoundError": "그 패키지 없이 쓸 수 있는지 보세요. 채점하는 컴퓨터에는 이 강의에 필요한 패키지만 있어요.",
    "SystemExit": "`exit()`나 `quit()`을 부르는 줄을 지우세요. 함수는 값을 돌려주며 끝나야 해요.",
    "EOFError": "`input()`은 쓸 수 없어요. 필요한 값은 인자로 들어와요.",
    "RecursionError": "함수가 자기 자신을 끝없이 부르지 않는지 보세요.",
    "AttributeError": "점(.) 뒤의 이름을 확인하고, 그 값의 타입을 출력해 보세요.",
}

MOMENT_NAMES = {"scheduler": "scheduler.step"}

RESIDUAL_WORTH_SAYING = 0.01
_COEFFICIENT_IS_ZERO = 0.005  # of the largest one: below it a bar is a hair and the number says nothing
_TERMS_SHOWN = 8


# ---- text that others wrote ---------------------------------------------------------------------------


def clean(text: str, limit: int = 2000) -> str:
    """`text` without what could steer a terminal or a page, cut to `limit` characters.

    Control characters, bidirectional overrides and lone surrogates become visible `\\x1b`-like escapes;
    tabs become spaces, line breaks stay.
    """
    cut = text[:limit]
    shown = "".join(_shown(char) for char in cut.replace("\r\n", "\n").expandtabs(4))
    return shown if len(text) <= limit else f"{shown} … ({len(text):,}자 중 {limit:,}자)"


def _shown(char: str) -> str:
    if char == "\n" or unicodedata.category(char) not in ("Cc", "Cf", "Cs"):
        return char
    # Joiners inside emoji and Indic scripts are Cf too, but no error message needs them whole.
    code = ord(char)
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}"


def one_line(text: str, limit: int = 300) -> str:
    """As `clean`, with line breaks turned into spaces."""
    return " ".join(clean(text, limit).split())


def without_code_marks(text: str) -> str:
    """`text` for places that cannot set code: without its backticks."""
    return one_line(text).replace("`", "")


# ---- numbers ------------------------------------------------------------------------------------------


def points(value: float) -> str:
    """Points as people write them: `3`, `2.5`."""
    return f"{value:.2f}".rstrip("0").rstrip(".")


def subscript(number: int) -> str:
    """`12` -> `₁₂`."""
    return str(number).translate(str.maketrans("0123456789", "₀₁₂₃₄₅₆₇₈₉"))


def coefficient(value: float, largest: float = 0.0) -> str:
    """Three significant digits, always with a decimal point unless zero: `1.0`, `0.333`, `−2.0`, `0`.

    Beside `largest`, what is too small to be an ingredient is `0`.
    """
    if math.isnan(value):
        return "NaN"
    if math.isinf(value):
        return "∞" if value > 0 else "−∞"
    text = f"{value:.3g}"
    if float(text) == 0 or abs(value) <= _COEFFICIENT_IS_ZERO * largest:
        return "0"
    if "." not in text and "e" not in text:
        text += ".0"
    return text.replace("-", "−")


def gradient_names(recipe: Recipe) -> list[str]:
    """`g₁`, `g₂` …; `g₁(w)` and `g₁(w+e)` where an update looks at two places."""
    names = [f"g{subscript(batch)}" for batch in recipe.batches]
    if not recipe.moved:
        return names
    return [f"{name}(w+e)" if away else f"{name}(w)" for name, away in zip(names, recipe.moved, strict=True)]


def formula(names: Sequence[str], coefficients: Sequence[float], largest: float) -> str:
    """`1.0·g₁ + 0.5·g₃`; terms that are zero beside `largest` are left out."""
    terms = [(c, n) for c, n in zip(coefficients, names, strict=True) if coefficient(c, largest) != "0"]
    if not terms:
        return "0"
    text = ""
    for index, (value, name) in enumerate(terms[:_TERMS_SHOWN]):
        negative = value < 0
        sign = ("−" if negative else "") if index == 0 else (" − " if negative else " + ")
        text += f"{sign}{coefficient(abs(value))}·{name}"
    rest = len(terms) - _TERMS_SHOWN
    return text if rest <= 0 else f"{text} + … (항이 {rest}개 더 있어요)"


def largest_coefficient(recipe: Recipe) -> float:
    """The size of the largest finite coefficient on either side; 0 where there is none."""
    return max((abs(c) for c in (*recipe.got, *recipe.expected) if math.isfinite(c)), default=0.0)


def formulas(recipe: Recipe) -> tuple[str, str]:
    """The learner's formula and the right one."""
    largest, names = largest_coefficient(recipe), gradient_names(recipe)
    return formula(names, recipe.got, largest), formula(names, recipe.expected, largest)


def recipe_title(recipe: Recipe) -> str:
    """The heading over a recipe, with the scenario where that is another one than the departure's."""
    return "업데이트의 재료" + (f" · {recipe.scenario}" if recipe.scenario else "")


def recipe_line(recipe: Recipe) -> str:
    """`2번째 업데이트 = 1.0·g₁ + 1.0·g₂ (정답: 1.0·g₂)`."""
    got, expected = formulas(recipe)
    return f"{recipe.update}번째 업데이트 = {got} (정답: {expected})"


def residual_line(recipe: Recipe) -> str:
    """What the gradients cannot explain, in words; empty when that is nothing."""
    if not recipe.residual > RESIDUAL_WORTH_SAYING:
        return ""
    share = min(100, round(100 * recipe.residual))
    return (
        f"업데이트의 약 {share}%는 배치 그레이디언트를 어떻게 더해도 나오지 않아요. "
        "더하기 말고 다른 일(자르기, 다른 손실, 직접 바꾼 값)이 섞여 있어요."
    )


# ---- what is the matter -------------------------------------------------------------------------------


@dataclass(frozen=True)
class Headline:
    """The first line of a feedback and the text right under it."""

    mark: str
    text: str
    body: str = ""
    choices: tuple[str, ...] = ()
    """Titles of mistakes that cannot be told apart."""


def headline(feedback: Feedback) -> Headline:
    """What happened, in one line; `body` is what the message says beyond it."""
    mark, mistakes = MARKS[feedback.status], feedback.diagnosis.mistakes
    if feedback.status == "passed":
        return Headline(mark, "통과했어요", _checked(feedback))
    if mistakes:
        return _named_headline(mark, mistakes)
    if is_empty(feedback):
        return Headline(MARKS["missing"], EMPTY, FILL_IN)
    if feedback.status == "failed":
        told = feedback.diagnosis.departure is not None or _sentence(feedback.message)[0] == UNNAMED
        return Headline(mark, UNNAMED, "" if told else one_line(feedback.message, 600))
    first, rest = _sentence(one_line(feedback.message, 600))
    if feedback.error is not None and one_line(feedback.error, 600).startswith(rest):
        rest = ""
    return Headline(mark, first or STATUS_NAMES[feedback.status], rest)


def _named_headline(mark: str, mistakes: Sequence[Named]) -> Headline:
    if len(mistakes) > 1:
        return Headline(mark, f"실수가 {_count(len(mistakes))}이에요")
    titles = mistakes[0].titles
    if len(titles) == 1:
        return Headline(mark, titles[0])
    return Headline(mark, f"다음 {_count(len(titles))} 가운데 하나예요", INSEPARABLE, titles)


def is_empty(feedback: Feedback) -> bool:
    """Whether the learner has not begun."""
    return feedback.message == NOT_BEGUN


def error_text(feedback: Feedback) -> str:
    """The exception to show; empty when there is none or it is the starter's own."""
    return "" if feedback.error is None or is_empty(feedback) else clean(feedback.error, 1500)


def departure_to_show(feedback: Feedback) -> Departure | None:
    """The departure, unless it only repeats the exception that is shown anyway."""
    departure = feedback.diagnosis.departure
    if departure is None or feedback.error is None or departure.got != feedback.error:
        return departure
    return None


def next_step(feedback: Feedback) -> str:
    """What to do where no mistake is named; empty when the feedback says it all."""
    if feedback.diagnosis.mistakes or is_empty(feedback):
        return ""
    if feedback.status == "error":
        return _after_exception(feedback.error)
    return NEXT_STEPS[feedback.status]


def _after_exception(error: str | None) -> str:
    if error is None:  # the cell does not parse
        return "그 줄과 바로 윗줄의 괄호, 따옴표, 들여쓰기를 보세요."
    kind, _, message = error.partition(":")
    if kind == "NotImplementedError":
        return ""
    if kind == "TypeError" and "argument" in message and "()" in message:
        return "함수의 첫 줄을 처음 그대로 두었는지 보세요. 인자의 이름과 순서는 바꿀 수 없어요."
    return _AFTER_EXCEPTION.get(kind, NEXT_STEPS["error"])


def common_cause(feedback: Feedback) -> str:
    """Where several checks fail: that the named mistakes explain all of them; else nothing.

    They do, because a mistake is named only when the solution with that mistake fails in just the same way.
    Other mistakes may hide behind it.
    """
    failed, mistakes = sum(not check.passed for check in feedback.checks), feedback.diagnosis.mistakes
    if failed < 2 or not mistakes:
        return ""
    cause = "이 실수에서" if len(mistakes) == 1 else "이 두 실수에서"
    return f"틀린 항목 {failed}개가 모두 {cause} 나왔어요."


def summary(feedback: Feedback) -> str:
    """The headline, with the names where there are several."""
    mistakes = feedback.diagnosis.mistakes
    if not mistakes:
        return headline(feedback).text
    return " + ".join(either(named) for named in mistakes)


def either(named: Named) -> str:
    """All titles of one mistake, which cannot be told apart, in a line."""
    return " 또는 ".join(named.titles)


def _checked(feedback: Feedback) -> str:
    titles = [check.title for check in feedback.checks]
    return f"확인한 것: {', '.join(titles)}." if titles else ""


def _sentence(text: str) -> tuple[str, str]:
    first, _, rest = text.partition(". ")
    return first.rstrip("."), rest.strip()


def _count(number: int) -> str:
    return {2: "둘", 3: "셋", 4: "넷"}.get(number, f"모두 {number}건")


def location(feedback: Feedback) -> str:
    """`kim.ipynb · 코드 셀 3 · 7번째 줄`; empty when nothing is known, or nothing is to be looked at."""
    if feedback.status == "passed":
        return ""
    parts = []
    if feedback.file:
        parts.append(one_line(feedback.file, 120))
    if feedback.cell is not None:
        parts.append(f"코드 셀 {feedback.cell}")
    if feedback.line is not None:
        parts.append(f"{feedback.line}번째 줄")
    return " · ".join(parts)


# ---- the order of events ------------------------------------------------------------------------------


@dataclass(frozen=True)
class Pair:
    """One column of the two timelines; None where one side has nothing."""

    yours: Moment | None
    right: Moment | None

    @property
    def differs(self) -> bool:
        """Whether only one side has it."""
        return self.yours is None or self.right is None


def align(yours: Sequence[Moment], right: Sequence[Moment]) -> list[Pair]:
    """Both timelines in columns: moments that have a partner stand above each other.

    Timelines are windows of longer ones. Where one window is over and the other goes on with a moment whose
    partner lies outside, the picture ends: that moment is not missing anywhere.
    """
    pairs: list[Pair] = []
    i = j = 0
    while i < len(yours) or j < len(right):
        mine = yours[i] if i < len(yours) else None
        theirs = right[j] if j < len(right) else None
        if mine is not None and mine.differs:
            pairs.append(Pair(mine, None))
            i += 1
        elif theirs is not None and theirs.differs:
            pairs.append(Pair(None, theirs))
            j += 1
        elif mine is None or theirs is None:
            break
        elif mine.kind == theirs.kind:
            pairs.append(Pair(mine, theirs))
            i, j = i + 1, j + 1
        else:  # the flags promise partners that are none: show both sides, claim nothing
            pairs += [Pair(mine, None), Pair(None, theirs)]
            i, j = i + 1, j + 1
    return pairs


def order_in_words(moments: Sequence[Moment], limit: int = 8) -> str:
    """`zero_grad → forward → backward → step`."""
    names = [moment_name(moment) for moment in moments[:limit]]
    return " → ".join([*names, "…"] if len(moments) > limit else names)


def moment_name(moment: Moment) -> str:
    """`zero_grad`, `forward`, …"""
    return MOMENT_NAMES.get(moment.kind, one_line(moment.kind, 40))


def moment_detail(moment: Moment) -> str:
    """`3줄`, `배치 2 · 5줄`, or nothing."""
    parts = [] if moment.batch is None else [f"배치 {moment.batch}"]
    if moment.line is not None:
        parts.append(f"{moment.line}줄")
    return " · ".join(parts)


_CODE = re.compile(r"`([^`\n]+)`")


def split_code(text: str) -> list[tuple[str, bool]]:
    """Prose and inline code in turn: [(text, is code), …]."""
    pieces = _CODE.split(text)
    return [(piece, index % 2 == 1) for index, piece in enumerate(pieces) if piece]
