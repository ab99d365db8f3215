"""The clinic as a learner meets it, in a notebook and on the command line."""

import itertools
import linecache
import os
import random
import re
from collections.abc import Callable, Iterator
from datetime import date, timedelta
from functools import partial
from pathlib import Path

import msgspec
import pytest
from prompt_toolkit.application import create_app_session
from prompt_toolkit.data_structures import Point
from prompt_toolkit.input import create_pipe_input
from prompt_toolkit.mouse_events import MouseButton, MouseEvent, MouseEventType
from prompt_toolkit.output import DummyOutput

from grader import clinic
from grader.cli.choices import _Choice, choose
from grader.cli.clinic import _go_through
from grader.cli.main import run
from grader.course.reading import load_course
from grader.judging.solution import exercise_source
from grader.learner.event import happened
from grader.learner.progress import Progress
from grader.notebook.check import judge_in_kernel
from grader.observe.wording import in_past
from grader.practice import clinic_cell, symptoms
from grader.practice import visit as visit_module
from grader.practice.case import draw
from grader.practice.real_bugs import case_of, load_real_bugs
from grader.practice.visit import Visit, draws_of

RIGHT = exercise_source(load_course().exercise("train_step"))


SEED = int(os.environ.get("CLINIC_SEED", "0"))
"""What the draws begin with; with other numbers the tests must pass too."""


@pytest.fixture(autouse=True)
def _fresh_desk(monkeypatch: pytest.MonkeyPatch) -> None:
    """Put a desk without a case, and with draws that are the same in every run, whatever the day."""
    numbers = itertools.count(SEED)
    monkeypatch.setattr(
        clinic_cell, "_state", clinic_cell._ClinicState(draws=lambda: random.Random(next(numbers)))
    )
    monkeypatch.setattr(visit_module, "draws_of", lambda _: draws_of(date.min + timedelta(days=SEED)))


def function(source: str, name: str = "train_step_clinic") -> Callable[..., object]:
    """A cell that was run as IPython runs it."""
    text = "import torch\n\n" + re.sub(r"(?m)^(def|class) \w+", rf"\1 {name}", source, count=1)
    filename = f"<cell {abs(hash(text))}>"
    linecache.cache[filename] = (len(text), None, text.splitlines(keepends=True), filename)
    names: dict[str, object] = {"__name__": "__main__"}
    exec(compile(text, filename, "exec"), names)
    return names[name]  # type: ignore[return-value]


def kept() -> list[tuple[str, object]]:
    return [(e.what, e.detail["rating"]) for e in Progress.load().events if e.kind == "clinic"]


def test_a_case_is_handed_out_and_mended() -> None:
    shown = clinic("train_step")
    assert "def train_step_clinic(" in shown.text
    assert "이 함수에는 실수가" in shown.html
    assert clinic().text.endswith(shown.text.splitlines()[-1]), "asking again shows the same one"
    wrong = clinic(function(RIGHT.replace("loss.backward()", "pass")))
    assert "통과하지 못한 항목" in wrong.text
    assert "`loss.backward()`" not in wrong.text, "the name of a mistake would be the answer"
    assert kept() == []
    over = clinic(function(RIGHT))
    assert over.text.startswith("고쳤어요!")
    assert "에 다시 나와요" in over.text
    assert {rating for _, rating in kept()} == {2}
    assert not Progress.load().history.mistakes, "what was handed out broken is no mistake of the learner's"


@pytest.mark.parametrize("name", ["TrainConfig", "BestCheckpoint", "Snapshot", "SAM"])
def test_a_class_is_handed_out_and_mended(name: str) -> None:
    """Under its other name the solution passes: nothing outside asks for the class by name."""
    shown = clinic(name)
    assert f"class {name}_clinic" in shown.text
    assert "이 클래스에는 실수가" in shown.text
    visit = clinic_cell._state.open
    assert visit is not None
    imports = visit.case.text.removesuffix(visit.case.program)
    broken = clinic(function(imports + visit.case.program, f"{name}_clinic"))  # type: ignore[arg-type]
    assert broken.text.startswith("아직이에요")
    right = exercise_source(visit.case.exercise)
    assert clinic(function(imports + right, f"{name}_clinic")).text.startswith("고쳤어요!")


def test_the_code_comes_as_a_cell_that_hands_itself_in(monkeypatch: pytest.MonkeyPatch) -> None:
    cells: list[str] = []
    monkeypatch.setattr(clinic_cell, "new_cell", cells.append)
    clinic("train_step")
    clinic()
    (text,) = cells
    assert clinic_cell._state.open is not None
    assert text.startswith(clinic_cell._state.open.case.named("train_step_clinic").rstrip())
    assert text.endswith("\n\n\nclinic(train_step_clinic)")


def test_a_line_and_a_symptom() -> None:
    for _ in range(20):
        clinic("train_step")
        visit = clinic_cell._state.open
        assert visit is not None
        if visit.question is not None:
            break
    assert visit.question is not None
    other = next(letter for letter in visit.question.choices if letter != visit.question.answer)
    assert f"줄도 아니고, 증상 {other}도 아니에요" in clinic(line=1, symptom=other).text
    line = min(visit.case.lines)
    refused = clinic(line=line, symptom=other).text
    assert refused.startswith(f"줄은 맞았어요. 증상은 {other}가 아니에요.")
    assert visit.question.against[other] in refused
    assert refused.endswith("증상만 다시 골라 보세요.")
    assert visit.question.against[other] in clinic(symptom=other).text, "the line need not be told again"
    assert clinic(symptom=visit.question.answer.upper()).text.startswith("찾았어요!")
    assert kept() == [(f"train_step/{visit.case.mistakes[0].id}", 2)]


def test_what_was_right_is_not_asked_again() -> None:
    visit = None
    while visit is None or visit.question is None:
        clinic("train_step")
        visit = clinic_cell._state.open
        assert visit is not None
    told = clinic(line=1, symptom=visit.question.answer).text
    assert told.startswith("증상은 맞았어요")
    assert told.endswith("줄만 다시 골라 보세요.")
    assert clinic(line=min(visit.case.lines)).text.startswith("찾았어요!")


def test_what_was_right_is_not_asked_again_in_a_terminal(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """What can be no symptom is told with those that can; a Hangul keyboard types 「ㅁ」 for a."""
    case = draw(load_course().exercise("train_step"), ["detached-loss"], random.Random(1))
    assert case is not None
    visit = Visit(case, random.Random(1))
    assert visit.question is not None
    other, right = next(iter(visit.question.against)), visit.question.answer
    hangul = dict(zip("abcdm", "ㅁㅠㅊㅇㅡ", strict=True))
    typed(monkeypatch, hangul["m"], str(min(case.lines)), "첫 번째", hangul[other], hangul[right])
    _go_through(visit, tmp_path)
    said = capsys.readouterr().out
    assert "'첫 번째': 고를 수 있는 것은 a, b, c" in said
    assert visit.question.against[other] in said.replace("\n", " ").replace("  ", " ") or "예외 없이" in said
    assert said.count("틀린 줄은 어느 것일까요?") == 1
    assert "찾았어요!" in said


@pytest.mark.parametrize(
    ("line", "symptom", "told"),
    [
        ("x", "a", "까지의 정수로 적어 주세요 (받은 값: 'x')"),
        (0, "a", "줄 번호는 1부터"),
        (10_000, "a", "(받은 값: 10000)"),
        (True, "a", "(받은 값: True)"),
        (1, "", "가운데 한 글자로 적어 주세요 (받은 값: '')"),
        (1, 3, "(받은 값: 3)"),
    ],
)
def test_what_is_no_line_or_symptom_is_no_wrong_try(line: object, symptom: object, told: str) -> None:
    """`line="x"` was told that it was not the -1st line, and counted."""
    for _ in range(20):
        clinic("train_step")
        visit = clinic_cell._state.open
        assert visit is not None
        if visit.question is not None:
            break
    assert visit.question is not None
    said = clinic(line=line, symptom=symptom).text  # type: ignore[arg-type]
    assert told in said
    assert "-1" not in said
    assert clinic(line=min(visit.case.lines), symptom=visit.question.answer).text.startswith("찾았어요!")
    assert kept() == [(f"train_step/{visit.case.mistakes[0].id}", 3)]


def test_the_answer_is_shown_when_asked_for() -> None:
    clinic("train_step")
    visit = clinic_cell._state.open
    assert visit is not None
    assert visit.case.mistakes[0].title in clinic(answer=True).text
    assert {rating for _, rating in kept()} == {1}


def test_the_answer_shows_where_a_line_belongs() -> None:
    """A line that had moved was told as taken out and put in, without a line around it."""
    case = draw(load_course().exercise("train_step"), ["missing-zero-grad"], random.Random(1))
    assert case is not None
    shown = case.repair_in_place().splitlines()
    (put,) = (at for at, line in enumerate(shown) if line.startswith("+ "))
    right = case.right.splitlines()
    at = right.index(shown[put][2:])
    assert shown[put - 1][2:] == right[at - 1]
    assert shown[put + 1][2:] == right[at + 1]
    assert "\n".join(line for line in shown if not line.startswith("  ")) == case.repair()


@pytest.mark.parametrize(
    ("body", "told"),
    [
        ("    while True: pass\n", "끝나지 않아"),
        ("    raise KeyError('no')\n", "KeyError"),
    ],
    ids=("endless", "raises"),
)
def test_whatever_comes_back_the_case_stays_open(
    body: str, told: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(clinic_cell, "judge_in_kernel", partial(judge_in_kernel, seconds=0.3))
    clinic("train_step")
    visit = clinic_cell._state.open
    assert told in clinic(function(f"def train_step(model, opt, loss_fn, xb, yb):\n{body}")).text
    assert clinic_cell._state.open is visit
    assert kept() == []


def test_what_cannot_be_done_is_said() -> None:
    assert "받아 둔 코드가 없어요" in clinic(line=3).text
    assert "받아 둔 코드가 없어요" in clinic(answer=True).text
    assert "받아 둔 코드가 없어요" in clinic(function(RIGHT)).text
    assert "혹시 'train_step'인가요" in clinic("train_stp").text
    assert "연습 문제의 이름이나 고친 함수를 넘겨 주세요 (받은 값: 3)" in clinic(3).text  # type: ignore[arg-type]
    clinic("train_step")
    assert "train_step_clinic" in clinic(function(RIGHT, "mine")).text
    assert "먼저 하나를 통과해" in clinic(real=True).text
    assert "다루기에는 길어요" in clinic("train_gpt").text


def test_a_real_bugs_link_can_be_followed() -> None:
    Progress.load().record_check("train_step", passed=True)
    assert "테니스" in clinic(real=True).text
    assert '<a href="https://github.com/yastrebksv/TennisCourtDetector/issues/7">' in clinic(answer=True).html


def typed(monkeypatch: pytest.MonkeyPatch, *answers: str | Callable[[], str]) -> None:
    waiting: Iterator[str | Callable[[], str]] = iter(answers)

    def ask(_prompt: str) -> str:
        answer = next(waiting, None)
        if answer is None:
            raise EOFError
        return answer if isinstance(answer, str) else answer()

    monkeypatch.setattr("builtins.input", ask)


def test_on_the_command_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """What is in the file is told; another file that is there already is left alone."""
    monkeypatch.chdir(tmp_path)
    mine, file = tmp_path / "clinic" / "train_step.py", tmp_path / "clinic" / "train_step_2.py"
    mine.parent.mkdir()
    mine.write_text("mine", encoding="utf-8")

    def saves(text: bytes) -> Callable[[], str]:
        def save() -> str:
            file.write_bytes(text)
            return ""

        return save

    typed(monkeypatch, "", saves(b"\xff\xfe broken"), saves(b"x = 1\n"), "a", "q")
    assert run(["clinic", "train_step"]) == 0
    said = capsys.readouterr().out
    assert "아직 그대로예요" in said
    assert "UTF-8" in said
    assert "함수를 읽지 못했어요" in said
    assert "볼 곳은" in said
    assert mine.read_text(encoding="utf-8") == "mine"
    assert {rating for _, rating in kept()} == {1}


def test_leaving_in_the_middle_keeps_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    typed(monkeypatch, "m", "ten", "q", "x16", "q")
    assert run(["clinic", "accumulate"]) == 0
    said = capsys.readouterr().out
    assert "'ten': 고를 수 있는 것은 4, 15" in said
    assert "고르지 않았어요" in said
    assert "'x16'이라는 키는 없어요" in said
    assert "푼 것으로 세지 않았어요" in said
    assert kept() == []


def test_a_line_number_is_a_key(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A number was no key: `m` had to be typed first. A line without code is refused and asked for again."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("grader.practice.visit.question", lambda *_: None)
    typed(monkeypatch, "1", "q", "4", "q", "q")
    assert run(["clinic", "accumulate"]) == 0
    said = capsys.readouterr().out
    assert "키는 없어요" not in said
    assert "1번째 줄에는 고칠 코드가 없어요." in said
    assert "4번째 줄 때문은 아니에요." in said


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["train_gpt"], "다루기에는 길어요"),
        (["--real"], "통과한 다음에 나와요"),
        (["lambda_max", "--real"], "아직 없어요"),
        (["nothing"], "'nothing'이라는 연습 문제는 없어요"),
        (["train_step", "--folder", "file"], "폴더가 아니라 파일이에요"),
    ],
    ids=lambda one: "-".join(one) if isinstance(one, list) else "",
)
def test_what_cannot_be_handed_out(
    words: list[str],
    told: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "file").write_text("mine", encoding="utf-8")
    assert run(["clinic", *words]) == 2
    assert told in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == [tmp_path / "file"]


def test_on_day_one_the_warm_up_is_broken(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Nothing has passed yet; a warm-up earns no points, so that its code may be seen."""
    monkeypatch.chdir(tmp_path)
    typed(monkeypatch, "q")
    assert run(["clinic"]) == 0
    said = capsys.readouterr().out
    assert "오늘의 클리닉: 새 코드 3개" in said
    assert "새 코드 · mend_step" in said


def test_its_file_lies_with_the_lessons_and_is_used_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    part = load_course().parts[0]
    (tmp_path / "hanstep" / part.place).parent.mkdir(parents=True)
    (tmp_path / "hanstep" / part.place).write_bytes(part.notebook.read_bytes())
    for place in (tmp_path, tmp_path / "hanstep", (tmp_path / "hanstep" / part.place).parent):
        monkeypatch.chdir(place)
        typed(monkeypatch, "q")
        assert run(["clinic", "train_step"]) == 0
    capsys.readouterr()
    (file,) = tmp_path.rglob("*.py")
    assert file == tmp_path / "hanstep" / "clinic" / "train_step.py"


def test_a_case_that_was_left_open_comes_again_with_what_was_changed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    file = tmp_path / "clinic" / "accumulate.py"

    def opened(*keys: str) -> str:
        typed(monkeypatch, *keys, "q")
        assert run(["clinic", "accumulate"]) == 0
        capsys.readouterr()
        return file.read_text(encoding="utf-8")

    first = opened()
    assert first == opened()
    edited = first.replace("def accumulate", "# mine\ndef accumulate")
    file.write_text(edited, encoding="utf-8")
    assert opened() == edited
    assert opened("a") == edited, "closed by asking for the answer"
    assert "# mine" not in opened()


def test_what_is_no_key_is_no_hand_in(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    typed(monkeypatch, "?", "q")
    assert run(["clinic", "mend_step"]) == 0
    said = capsys.readouterr().out
    assert "'?'라는 키는 없어요" in said
    assert "아직 그대로예요" not in said


def test_a_line_is_enough_where_symptoms_do_not_differ() -> None:
    """`mend_step` has one scenario; most of its mistakes look alike in it, and then no symptom is asked."""
    visit = None
    while visit is None or not visit.can_be_pointed_at or visit.question is not None:
        shown = clinic("mend_step")
        visit = clinic_cell._state.open
        assert visit is not None
    assert "data-hanstep-line" in shown.html
    wrong = next(n for n in range(1, 20) if n not in visit.case.lines)
    assert clinic(line=wrong).text.startswith(f"{wrong}번째 줄 때문은 아니에요.")
    found = clinic(line=min(visit.case.lines))
    assert found.text.startswith("찾았어요!")
    changed = [line[2:] for line in visit.case.repair().splitlines()]
    assert changed
    assert all(line in found.text and line in visit.case.program + visit.case.right for line in changed)


def test_the_days_share_is_counted_and_more_may_be_asked_for() -> None:
    for number in (1, 2, 3):
        clinic()
        said = clinic(answer=True)
        assert (f"오늘 몫 {number}/3." if number < 3 else "오늘 몫을 끝냈어요 (3/3).") in said.text
        assert ('data-hanstep-over="all"' in said.html) == (number == 3)
    assert "clinic(more=True)" in said.text
    clinic(more=True)
    assert "다음 코드를 받으려면" in clinic(answer=True).text


def test_what_is_mended_was_a_mistake() -> None:
    """The code at hand is right by then."""
    clinic("train_step")
    visit = clinic_cell._state.open
    assert visit is not None
    told = clinic(function(RIGHT)).text
    for mistake in visit.case.mistakes:
        assert f"{in_past(mistake.title)}." in told
        assert f"{mistake.title}." not in told or in_past(mistake.title) == mistake.title


@pytest.mark.parametrize(
    ("now", "then"),
    [
        ("`opt.step()`이 없어요", "`opt.step()`이 없었어요"),
        ("조건이 있어요", "조건이 있었어요"),
        ("스텝마다 시드를 정해요", "스텝마다 시드를 정했어요"),
        ("계산 그래프가 끊겼어요", "계산 그래프가 끊겼어요"),
        ("평가 모드예요", "평가 모드였어요"),
        ("배율이 0이에요", "배율이 0이었어요"),
        ("마지막이 아니에요", "마지막이 아니었어요"),
        ("하나씩 세요", "하나씩 셌어요"),
    ],
)
def test_the_past_of_a_sentence(now: str, then: str) -> None:
    assert in_past(now) == then


def test_every_title_has_a_past() -> None:
    titles = {m.title for e in load_course().exercises.values() for m in e.mistakes}
    assert [t for t in titles if not in_past(t).endswith("어요")] == []
    assert [t for t in titles if (ord(in_past(t)[-3]) - 0xAC00) % 28 != 20] == []  # ㅆ


def test_one_click_marks_a_line_and_the_second_chooses_it() -> None:
    """Who clicked to go to the terminal's window had answered with the line below the pointer."""
    click = MouseEvent(Point(0, 0), MouseEventType.MOUSE_UP, MouseButton.LEFT, frozenset())
    choice = _Choice("어느 줄?", {8: "loss = 1", 9: "loss.backward()"})
    left: list[int | None] = []
    choice._leave = left.append  # type: ignore[method-assign]
    for line in (0, 1):
        choice._clicked(line)(click)
    assert left == []
    choice._clicked(1)(click)
    assert left == [9]


def test_line_and_symptom_in_a_terminal() -> None:
    """Arrows and Enter, or the line's number; Enter alone chose the first line, which is the `def`."""
    options = {8: "loss = 1", 9: "loss.backward()", 10: "opt.step()"}
    for keys, chosen in (
        ("\r\x03", None),
        ("\x1b[B\x1b[B\r", 9),
        ("\x1b[A\r", 10),
        ("9\r", 9),
        ("10\r", 10),
        ("10\n", 10),
        ("1\r0\r", 10),
        ("7\r9\r", 9),
        ("9\x7f8\r", 8),
        ("\x03", None),
        ("q", None),
    ):
        with create_pipe_input() as pipe:
            pipe.send_text(keys)
            with create_app_session(input=pipe, output=DummyOutput()):
                assert choose("어느 줄?", options) == chosen


def test_after_its_story_a_real_bug_asks_for_the_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(Visit, "can_be_pointed_at", True)
    monkeypatch.setattr("grader.practice.visit.question", lambda *_: None)
    bug = load_real_bugs()[0]
    visit = Visit(case_of(bug, load_course()), random.Random(1), bug=bug)
    assert visit.introduction[-1] == "그 버그가 이 코드에 있어요. 어느 줄인지 찾아 짚거나 고쳐 보세요."
    typed(monkeypatch, "q")
    _go_through(visit, tmp_path)
    said = capsys.readouterr().out
    assert said.index("편집기에서 고칠 파일") < said.index("틀린 줄을 찾았으면 줄 번호나 m을")


def test_a_real_bug_and_its_story(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    Progress.load().record_check("train_step", passed=True)
    file = tmp_path / "clinic" / "train_step.py"

    tries = iter(["def train_step(:\n", f"import torch\n\n\n{RIGHT}"])

    def save() -> str:
        file.write_text(next(tries), encoding="utf-8")
        return ""

    typed(monkeypatch, save, save, "q")
    assert run(["clinic", "--real"]) == 0
    said = capsys.readouterr().out
    assert "실제로 있었던 버그 · 테니스" in said
    assert "그 버그가 이 코드에 있어요. 찾아서 고쳐 보세요." in said, (
        "its missing line may stand nearly anywhere"
    )
    assert said.index("편집기에서 고칠 파일") < said.index("파일에서 고쳐 저장하고 Enter를 누르세요.")
    assert "SyntaxError" in said or "문법" in said
    assert "고쳤어요!" in said
    assert re.search(r"(?s)실제로는: .*\nhttps://github.com/", said)
    assert kept() == [("train_step/missing-zero-grad", 2)]
    assert Progress.load().history.real_bugs == {"tennis-court-7"}


def test_progress_says_what_is_due(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    learner = Progress.load()
    assert run(["progress"]) == 0
    assert "다시 볼 실수" not in capsys.readouterr().out
    before = happened("check", "train_step", passed=False, mistakes=["missing-step"])
    learner.record([msgspec.structs.replace(before, at=before.at - 3 * 86_400)])
    learner.record_check("train_step", passed=True)
    assert run(["progress"]) == 0
    said = capsys.readouterr().out
    assert "다시 볼 실수 1개" in said
    assert "여는 명령: grader clinic" in said


def test_lines_are_those_of_the_code_that_was_handed_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """`m` showed the old lines, and nothing said that they are not those of the changed file."""
    monkeypatch.chdir(tmp_path)
    file = tmp_path / "clinic" / "accumulate.py"

    def changes() -> str:
        text = file.read_text(encoding="utf-8")
        file.write_text(text.replace("def accumulate", "# mine\ndef accumulate"), encoding="utf-8")
        return "m"

    typed(monkeypatch, "m", "q", changes, "q", "q")
    assert run(["clinic", "accumulate"]) == 0
    assert " ".join(capsys.readouterr().out.split()).count("줄은 처음 받은 코드에서 짚어요") == 1


def test_where_nothing_moves_no_choice_says_that_the_first_update_differs() -> None:
    """It is true as well: parameters that stay where they are differ from those that moved."""
    exercise = load_course().exercise("train_step")
    asked = 0
    for number in range(6):
        case = draw(exercise, ["missing-step"], random.Random(number))
        assert case is not None
        question = symptoms.question(case, random.Random(number))
        if question is not None:
            asked += 1
            assert "움직이지 않아요" in question.choices[question.answer]
            assert not any("벌써 매개변수가 달라요" in text for text in question.choices.values())
    assert asked
