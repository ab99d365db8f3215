"""Word the parts of a feedback that every report shows: headline, next step, places, repairs.

The text report and the HTML report both take their sentences from here, so that a terminal and a page say the same.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from grader.base.names import listed, short
from grader.course.feedback import (
    CheckResult,
    Diagnosis,
    Feedback,
    FirstDifference,
    NamedMistake,
    RepairStep,
    Status,
    SubmissionResult,
)
from grader.course.marks import ExerciseMark
from grader.observe.wording import ENDLESS_LOOP, ENDS_THE_PROCESS, is_korean, kinds, one_of, with_particle
from grader.report.exceptions.advice import advise
from grader.report.plain_text import clean, mark_points, one_line, points

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

KIND_NAMES = {"warmup": "몸풀기", "bonus": "보너스"}
"""Korean names of the kinds of exercise that count towards no score; a graded exercise's kind is not listed."""
NOT_BEGUN = "시작 안 함"
"""Name of the status of a function that is still as it was handed out."""
UNREADABLE_PLACE = "읽을 수 없어요."
"""What ends the first sentence on code that does not parse (`SourceFile.complaint`), which names file and line."""
UNNAMED = "처음 보는 실수예요"
"""Name of all mistakes without a name, where an instructor reads how often each is made."""
DIFFERS = "정답과 다른 곳이 있어요"
"""Headline where no mistake can be named."""
REMEMBERS = "지난 호출에서 남은 것이 다음 호출의 결과를 바꿔요"
PASTED = "알려진 코드와 똑같이 동작해요"
EMPTY, FILL_IN = "아직 시작하지 않았어요", "함수 안을 채운 다음 다시 확인해 보세요."
INSEPARABLE = "어느 쪽이든 결과가 똑같아요. 내 코드에서 어느 쪽인지 찾아보세요."
NOTHING_EXPECTED = "이 상황에서 정답은 아무 단계도 실행하지 않아요."

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

_NUMERALS = {2: "둘", 3: "셋", 4: "넷", 5: "다섯", 6: "여섯"}
_AS_THE_EXERCISE_WRITES_IT = (
    "채점기는 문제에 적힌 순서와 이름으로 값을 넣어요. 함수의 첫 줄을 문제와 같게 고치고 다시 확인해 보세요."
)
_AFTER_A_RAISE = "내 코드의 `raise`가 낸 예외예요. 그 조건이 받아야 할 값까지 거절하지 않는지 보세요."


def no_mark_yet(submission: SubmissionResult) -> str:
    """Say why a submission that could not be read has no mark, naming its files."""
    files = f": {listed([unread.file for unread in submission.unread])}" if submission.unread else ""
    return f"읽지 못한 파일이 있어서 아직 점수가 없어요{files}"


@dataclass(frozen=True)
class Headline:
    """First line of a feedback, and the text right under it."""

    mark: str
    text: str
    body: str = ""
    choices: tuple[str, ...] = ()
    """Titles of mistakes that behave identically, listed below the headline; empty if it names just one mistake."""


def headline(feedback: Feedback) -> Headline:
    """Return the headline of a feedback; its `body` is the part of the message that the headline leaves out."""
    mark, mistakes = MARKS[feedback.status], feedback.diagnosis.mistakes
    if feedback.status == "passed":
        return Headline(mark, "통과했어요", _what_was_checked(feedback))
    if mistakes:
        return _named_headline(mark, mistakes, beside_exception=feedback.diagnosis.exception_apart)
    if not feedback.begun:
        return Headline(MARKS["missing"], EMPTY, FILL_IN)
    if cause := _other_cause(feedback.diagnosis):
        return Headline(mark, cause)
    if feedback.status == "failed":
        is_shown_below = feedback.diagnosis.first_difference is not None
        return Headline(mark, DIFFERS, "" if is_shown_below else one_line(feedback.message, 600))
    # `error_text` shows the exception below the headline, so it is cut out of the message here.
    message, error = (" ".join(text.split()) for text in (feedback.message, feedback.error or ""))
    first, rest = first_sentence(one_line(message.removesuffix(error).rstrip(), 600))
    shown = one_line(feedback.error or "", 600)
    rest = "" if shown.startswith(rest) else rest.removesuffix(shown).rstrip()
    return Headline(mark, first or STATUS_NAMES[feedback.status], rest)


def mark(feedback: Feedback) -> str:
    """Return the sign of a feedback's status; that of a missing answer while the function is as it was handed out."""
    return MARKS[feedback.status if feedback.begun else "missing"]


def status_name(feedback: Feedback) -> str:
    """Return the Korean name of a feedback's status."""
    return STATUS_NAMES[feedback.status] if feedback.begun else NOT_BEGUN


def extras_only(extras: Sequence[Feedback]) -> str:
    """Return a line on a student who handed in warm-ups and bonus tasks only, each with its status."""
    kinds = [name for kind, name in KIND_NAMES.items() if any(f.kind == kind for f in extras)]
    listed = ", ".join(f"`{f.exercise}` {status_name(f)}" for f in extras)
    return f"점수에 들지 않는 {'와 '.join(kinds)}만 냈어요: {listed}"


def _other_cause(diagnosis: Diagnosis) -> str:
    """Return the headline of a cause that is no known mistake; empty if none was found."""
    if diagnosis.pasted is not None:
        return PASTED
    return REMEMBERS if diagnosis.remembered is not None else diagnosis.signature


def check_mark(check: CheckResult, feedback: Feedback) -> str:
    """Return the sign in front of a check: `✓`, `✗`, or a neutral `·` while the function is still the empty starter."""
    if check.passed:
        return MARKS["passed"]
    return MARKS["failed"] if feedback.begun else "·"


def mark_in_points(feedback: Feedback, unit: str = "") -> str:
    """Return `3/4` followed by `unit`, or the Korean name of the exercise's kind if it counts towards no score.

    What could not be read has no points yet, not even 0.
    """
    if (kind := KIND_NAMES.get(feedback.kind)) is not None:
        return kind
    if feedback.status == "unreadable":
        return "—"
    return f"{points(feedback.score)}/{points(feedback.max_score)}{unit}"


def points_now(feedback: Feedback, given: ExerciseMark | None) -> str:
    """Return `3/4`, or `채점기 3 → 3.5/4` if an instructor gave other points by hand.

    Args:
        feedback: the feedback.
        given: the exercise's part of the final mark; None if there is none.
    """
    if given is None or not given.reason:
        return mark_in_points(feedback)
    measured = "—" if feedback.status == "unreadable" else points(feedback.score)
    if measured != "—" and feedback.max_score != given.max_score:
        measured = mark_in_points(feedback)
    return f"채점기 {measured} → {mark_points(None if given.dropped else given.score, given.max_score)}"


def _named_headline(mark: str, mistakes: Sequence[NamedMistake], *, beside_exception: bool) -> Headline:
    if len(mistakes) > 1:
        # There may be more than were found, so this does not say how many there are.
        return Headline(mark, f"실수를 {kinds(len(mistakes))} 찾았어요")
    titles = mistakes[0].titles
    if len(titles) == 1:
        return Headline(mark, f"예외가 나요. 그리고 {titles[0]}" if beside_exception else titles[0])
    counted = _NUMERALS.get(len(titles), f"모두 {len(titles)}건")
    return Headline(mark, f"다음 {counted} 가운데 하나예요", INSEPARABLE, titles)


def evidence_title(feedback: Feedback) -> str:
    """Return the line under which a card folds what was measured: which parts there are, so that it need not be opened.

    The first difference is folded only where a mistake is named; without one, it is the main thing that the card says.
    """
    diagnosis = feedback.diagnosis
    passed = sum(check.passed for check in feedback.checks)
    parts = {
        f"항목 {passed}/{len(feedback.checks)} 통과": feedback.status in ("failed", "error"),
        "처음 갈라지는 곳": diagnosis.mistakes and first_difference_to_show(feedback) is not None,
        "실행 순서": diagnosis.yours or diagnosis.right,
        "업데이트의 재료": diagnosis.recipe is not None,
    }
    return f"무엇이 달랐나요: {', '.join(part for part, is_there in parts.items() if is_there)}"


def error_text(feedback: Feedback) -> str:
    """Return the exception to show; empty if there is none, or if it is the untouched starter's own."""
    error = "" if feedback.error is None or not feedback.begun else clean(feedback.error, 1500)
    return error.rstrip().removesuffix(":")  # an exception without a message reads `MemoryError: `


def first_difference_to_show(feedback: Feedback) -> FirstDifference | None:
    """Return the first difference, or None if it only repeats the exception that is shown anyway."""
    first = feedback.diagnosis.first_difference
    if first is None or feedback.error is None or first.got != feedback.error:
        return first
    return None


def first_place(first: FirstDifference) -> str:
    """Return scenario and place, as in `SGD · 두 번째 업데이트부터 매개변수가 달라요`.

    The scenario is left out if the description of the place says it already.
    """
    return first.what if first.says_scenario else f"{first.scenario} · {first.what}"


def next_step(feedback: Feedback) -> str:
    """Return advice on how to go on if no mistake is named, or on an exception that the named mistakes do not explain.

    Empty if the rest of the feedback is enough.
    """
    if not feedback.begun:
        return ""
    if feedback.diagnosis.mistakes:
        return _beside_mistakes(feedback)
    if feedback.diagnosis.signature:
        return _AS_THE_EXERCISE_WRITES_IT
    if feedback.status == "error":
        return _after_exception(feedback)
    # Other messages of these statuses, as for too many threads, say what to look for, or that the machine is to blame.
    advised = {"timeout": ENDLESS_LOOP, "crashed": ENDS_THE_PROCESS}.get(feedback.status, "")
    return NEXT_STEPS[feedback.status] if advised in feedback.message else ""


def _beside_mistakes(feedback: Feedback) -> str:
    """Return what is told beside the named mistakes: other parameters, or an exception that they do not explain."""
    if feedback.diagnosis.signature:
        return f"{feedback.diagnosis.signature}. {_AS_THE_EXERCISE_WRITES_IT}"
    if not feedback.diagnosis.exception_apart:
        return ""
    where = "" if feedback.line is None else f"{_line(feedback.line, feedback.cell)}에서 나는 "
    return f"{where}예외는 위의 실수 때문이 아니에요. {_after_exception(feedback)}"


def place_beside_exception(feedback: Feedback) -> str:
    """Return the place of the only named mistake where the feedback points at an exception's line; else empty."""
    mistakes = feedback.diagnosis.mistakes
    if not feedback.diagnosis.exception_apart or len(mistakes) != 1:
        return ""
    place = mistake_place(mistakes[0])
    return f"고칠 곳: {place}" if place else ""


def _after_exception(feedback: Feedback) -> str:
    if feedback.error is None:  # the code does not parse, and the message says what to do
        return ""
    if feedback.raised:  # of a placeholder, the headline tells
        return "" if feedback.error.strip() == "NotImplementedError:" else _AFTER_A_RAISE
    general = "" if is_korean(feedback.error) else NEXT_STEPS["error"]
    return advise(feedback.error, feedback.source_line) or general


def looks(feedback: Feedback) -> list[str]:
    """Return one line per failed check on where to look; a title that has a colon of its own is quoted.

    Empty if something more specific is told: a known program, a repair, state left by an earlier call, or an exception.
    Where mistakes are named, only the checks that these do not explain keep their line.
    """
    diagnosis = feedback.diagnosis
    known = diagnosis.pasted or diagnosis.repair or diagnosis.remembered or diagnosis.signature
    has_more_specific = known or feedback.error is not None
    if has_more_specific or not feedback.begun or feedback.status != "failed":
        return []
    if diagnosis.mistakes:
        untold = [check for check in feedback.checks if check.title in diagnosis.unexplained_checks]
    else:
        untold = [check for check in feedback.checks if not check.passed]
    titled = ((f"‘{c.title}’" if ":" in c.title else c.title, c.look) for c in untold if c.look)
    return [f"{title}: {look}" for title, look in titled]


def common_cause(feedback: Feedback) -> str:
    """Return a line saying that the named mistakes explain all failed checks, or how many of them at least.

    Empty if fewer than two checks failed, if no mistake is named, or if none is explained wholly. If the code ended in
    an exception that is not from the learner's own `raise`, the line says that the code after it was not seen yet.

    They do explain all of them: a mistake is named only if the solution with that mistake fails in just the same way.
    Further mistakes may still hide behind it, and do so if the code raises before it comes to them.
    """
    failed, mistakes = sum(not check.passed for check in feedback.checks), feedback.diagnosis.mistakes
    if failed < 2 or not mistakes:
        return ""
    these = "이 실수로" if len(mistakes) == 1 else "이 실수들로"
    if feedback.diagnosis.unexplained:
        explained = failed - len(feedback.diagnosis.unexplained_checks)
        # With the edits of a repair, nothing may stay open.
        is_told = explained > 0 and feedback.diagnosis.unexplained_checks and not feedback.diagnosis.repair
        return (
            f"틀린 항목 {failed}개 가운데 적어도 {explained}개를 {these} 설명할 수 있어요." if is_told else ""
        )
    if feedback.error is not None and not feedback.raised:
        return (
            "예외가 난 상황에서는 그다음 코드를 아직 확인하지 못했어요. 여기까지 고치고 다시 확인해 보세요."
        )
    return f"틀린 항목 {failed}개를 {these} 모두 설명할 수 있어요. 고친 다음 다시 확인해 보세요."


def order_title(feedback: Feedback) -> str:
    """Return the title above the two timelines, with their scenario if it is not that of the first difference."""
    scenario = feedback.diagnosis.order_scenario
    return "실행 순서" + (f" · {one_line(scenario, 60)}" if scenario else "")


def rest(feedback: Feedback) -> str:
    """Return a line naming the checks that the named mistakes do not explain wholly; their titles stand on the card.

    It tells what was compared, the results. It rules no cause out: the learner's line may do what the known mistake
    does and more, so that mending this line mends those scenarios, too.

    Empty if mistakes, a known program or a whole repair explain everything, or if an exception is told beside them.
    """
    titles = feedback.diagnosis.unexplained_checks or feedback.diagnosis.unexplained
    is_told = feedback.diagnosis.pasted or feedback.diagnosis.exception_apart
    if not titles or not feedback.diagnosis.mistakes or is_told:
        return ""
    # With the edits of a complete repair nothing stays open.
    if feedback.diagnosis.repair and not feedback.diagnosis.repair_leaves:
        return ""
    these = "이 실수로" if len(feedback.diagnosis.mistakes) == 1 else "이 실수들로"
    return (
        f"{_quoted_titles(titles)}에는 {these} 설명할 수 없는 다른 점이 더 있어요. "
        "먼저 여기까지 고치고 다시 확인해 보세요."
    )


def _quoted_titles(titles: Sequence[str]) -> str:
    shown = ", ".join(f"‘{one_line(title, 60)}’" for title in titles[:3])
    return shown + (f" 등 {len(titles)}곳" if len(titles) > 3 else "")


def repair(feedback: Feedback) -> list[str]:
    """Return one sentence per small edit that makes the learner's own program right, or less wrong."""
    steps = feedback.diagnosis.repair
    if not steps:
        return []
    sentences = [f"{repair_place(step)}: {repair_kind(step)}" for step in steps]
    return [f"내 코드에서 고칠 곳을 찾았어요. {sentences[0]}", *sentences[1:]]


def remembered(feedback: Feedback) -> str:
    """Return a line on state that outlives a call, and where to look for it; empty if none was found."""
    found = feedback.diagnosis.remembered
    if found is None:
        return ""
    first = "" if found.line is None else f" {_line(found.line, found.cell)}부터 보고,"
    return (
        f"코드를 새로 불러와 하나씩 따로 실행하면 {_quoted_titles(found.scenarios)}의 결과가 달라져요. "
        "함수가 끝나도 사라지지 않는 것이 있어요: 기본값으로 쓴 리스트나 집합, "
        f"`self` 없이 클래스에 바로 쓴 변수, 함수 밖의 변수.{first} 고친 다음 다시 확인해 보세요."
    )


def repair_leaves(feedback: Feedback) -> str:
    """Return a line naming the scenarios that stay wrong after the repair's edits; empty if the repair is complete."""
    titles = feedback.diagnosis.repair_leaves
    if not titles:
        return ""
    return f"여기를 고쳐도 {_quoted_titles(titles)}에서는 결과가 아직 달라요. 먼저 여기까지 고치고 다시 확인해 보세요."


def repair_place(step: RepairStep) -> str:
    """Return the place of an edit, as in `12번째 줄(코드 셀 3)`."""
    if step.line is None:
        return "이 함수"
    return _line(step.line, step.cell)


def _line(line: int, cell: int | None) -> str:
    return f"{line}번째 줄" + ("" if cell is None else f"(코드 셀 {cell})")


def _with_cell(place: str, cell: int | None) -> str:
    """Return a place with its cell behind it. A cell's number stands nowhere in a notebook, so it comes last."""
    return place if cell is None else f"{place} · 코드 셀 {cell}"


def repair_kind(step: RepairStep) -> str:
    """Return the kind of an edit and where it belongs, as in `한 줄을 더해 보세요. 자리는 이 줄보다 앞이에요.`"""
    where = step.where.removesuffix("에")
    return f"{step.kind}." + (f" 자리는 {with_particle(where, '이에요/예요')}." if where else "")


def near(feedback: Feedback) -> str:
    """Return a line on the known mistake that an unknown one most resembles; empty if none is similar."""
    named = feedback.diagnosis.near
    if named is None:
        return ""
    return f"똑같지는 않지만, 가장 비슷한 실수는 이것이에요. {named.titles[0]}. {named.hint}"


def mistake_place(named: NamedMistake) -> str:
    """Return the place of a mistake: `12번째 줄`, `12번째 줄보다 앞`, `12번째 줄 뒤`, or empty if no line is known."""
    if named.line is None:
        return ""
    return _with_cell(f"{named.line}번째 줄{_side(named)}", named.cell)


def look_at(named: NamedMistake) -> str:
    """Return a sentence on where to look for a mistake, as in `12번째 줄(코드 셀 3)을 보세요.`; empty if unknown."""
    if named.line is None:
        return ""
    line = _line(named.line, named.cell)
    return f"{line}{_side(named)}에 빠진 것이 있어요." if _side(named) else f"{line}을 보세요."


def missing_beside(named: NamedMistake) -> str:
    """Return a line saying on which side of a line something is missing; empty if it is the line itself."""
    if not (named.before or named.after):
        return ""
    return f"이 줄{_side(named)}에 빠진 것이 있어요"


def _side(named: NamedMistake) -> str:
    """Return what follows `12번째 줄`."""
    return "보다 앞" if named.before else " 뒤" if named.after else ""


def summary(feedback: Feedback) -> str:
    """Return the headline's text; if several mistakes are named, their titles joined by ` + `."""
    mistakes = feedback.diagnosis.mistakes
    if not mistakes:
        return headline(feedback).text
    return " + ".join(either(named) for named in mistakes)


def either(named: NamedMistake) -> str:
    """Return all titles of one mistake in one line: alternatives that behave identically."""
    return one_of(named.titles)


def _what_was_checked(feedback: Feedback) -> str:
    titles = [check.title for check in feedback.checks]
    # Titles contain commas, so ` / ` separates them.
    return f"확인한 것: {' / '.join(titles)}." if titles else ""


def first_sentence(text: str) -> tuple[str, str]:
    """Split a text into its first sentence, without the full stop, and the rest."""
    first, _, rest = text.partition(". ")
    return first.rstrip("."), rest.strip()


def _side_shown(feedback: Feedback) -> str:
    """Return what follows the number of the line that is shown, where something is missing beside it."""
    mistakes = feedback.diagnosis.mistakes
    return _side(mistakes[0]) if mistakes and mistakes[0].line == feedback.line else ""


def framed(feedback: Feedback) -> Feedback:
    """Return the feedback with the place whose code the card frames.

    Where a named mistake explains the exception, that is its line: the line that raised only met what came of it.
    """
    mistakes = feedback.diagnosis.mistakes
    if feedback.error is None or not mistakes or feedback.diagnosis.exception_apart:
        return feedback
    first = mistakes[0]
    if first.line is None or (first.line, first.cell) == (feedback.line, feedback.cell):
        return feedback
    return replace(feedback, line=first.line, cell=first.cell, source_line=first.source_line, lines_above=0)


def location(feedback: Feedback) -> str:
    """Return file, line and cell, as in `kim.ipynb · 7번째 줄 · 코드 셀 3`; empty if passed or unknown."""
    if feedback.status == "passed":
        return ""
    file, where = one_line(short(feedback.file or "")), place(feedback)
    own = f"{feedback.exercise} 셀의 " if where and feedback.cell is None and file.endswith(".ipynb") else ""
    return " · ".join(filter(None, (file, own + where)))


def place(feedback: Feedback) -> str:
    """Return the place within the file, as in `7번째 줄 · 코드 셀 3`; empty if unknown."""
    if feedback.line is None:
        return "" if feedback.cell is None else f"코드 셀 {feedback.cell}"
    return _with_cell(f"{feedback.line}번째 줄{_side_shown(feedback)}", feedback.cell)
