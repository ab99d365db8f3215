"""The page of progress: in a notebook and in a terminal it says the same, and never more than was done."""

import html
import json
import re
from datetime import date
from io import StringIO

import pytest
from rich.console import Console

from grader import progress
from grader.course.reading import load_course
from grader.learner.event import LearnerEvent, happened
from grader.learner.next_section import next_exercise, section
from grader.learner.overview import duration, overview
from grader.learner.progress import Progress
from grader.learner.rewards import load_rewards
from grader.practice.best_times import BestTimes
from grader.practice.progress_page import practice_lines, print_progress, progress_html, progress_text
from grader.practice.visit import comes_back
from tests.places import ROOT

COURSE = load_course()


def record(*told: tuple[str, str, dict[str, object]]) -> None:
    """Things that happened a minute apart."""
    Progress.load().record([LearnerEvent(str(n), 1e9 + 60 * n, *one) for n, one in enumerate(told)])


def plain(page: str) -> str:
    return " ".join(html.unescape(re.sub(r"<[^>]+>", " ", page)).split())


def test_a_beginner_sees_what_comes_first() -> None:
    shown = progress()
    for text in (shown.text, plain(shown.html)):
        assert "호기심" in text
        assert "0 XP" in text
        assert "몸풀기. mend_step" in text
        assert "약 2분" in text
        assert f"업적 0/{len(load_rewards().achievements)}" in text
        assert "★ " not in text
    console = Console(width=120, force_terminal=True, record=True, file=StringIO())
    print_progress(console, overview(Progress.load()))
    assert any(line.startswith("다음 레벨") for line in console.export_text().splitlines()), "below the bar"


def test_it_shows_lessons_mistakes_and_the_next_thing() -> None:
    record(
        ("check", "train_step", {"passed": False, "mistakes": ["missing-zero-grad"]}),
        ("check", "train_step", {"passed": True}),
        ("check", "fit", {"passed": False, "mistakes": ["missing-zero-grad", "of-another-edition"]}),
        ("check", "of_another_edition", {"passed": True}),
    )
    shown = progress()
    share = 100 // len(COURSE.lesson("01").counted)
    for text in (shown.text, plain(shown.html)):
        assert f"{share}%" in text
        assert "만난 실수 2개 · 넘어선 실수 1개" in text
        assert "연습 2. train_step_extras" in text
        assert "★ 첫 통과" in text
    assert "(train_step)" in shown.text
    assert '.ipynb#cell-id=exercise-train_step_extras"' in shown.html


def test_one_who_has_done_everything_is_told_so() -> None:
    record(*(("check", name, {"passed": True}) for name in COURSE.exercises))
    shown = progress()
    assert "모든 연습 문제를 통과했어요" in shown.text
    assert "모든 연습 문제를 통과했어요" in shown.html
    assert all(row.percent == 100 for row in overview(Progress.load()).lessons)


def test_a_reset_is_followed() -> None:
    """What was passed before it is not passed now; the page says so, and what stays."""
    lesson = COURSE.lesson("01")
    names = [e.name for e in lesson.counted]
    record(*(("check", name, {"passed": True}) for name in names))
    done = progress()
    for text in (done.text, plain(done.html)):
        assert f"{len(names)}/{len(names)}" in text
        assert "되돌린" not in text
    for name in names[:2]:
        Progress.load().forget(name)
    shown = progress()
    for text in (shown.text, plain(shown.html)):
        assert f"{len(names) - 2}/{len(names)}" in text
        assert text.count("전에 통과") == 2
        assert "되돌린 연습 문제 2개를 다시 풀 수 있어요" in " ".join(text.split())
    Progress.load().record_check(names[0], passed=True)
    assert progress().text.count("전에 통과") == 1


def test_trouble_with_the_file_is_told_there() -> None:
    path = Progress.path()
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("broken " * 1_000)
    shown = progress()
    assert "깨져 있어 옆으로 옮겼어요" in shown.text.replace("\n", " ")
    assert "깨짐" not in progress().text, "told once"


def test_the_page_holds_only_what_an_untrusted_output_keeps() -> None:
    """JupyterLab's sanitizer drops style sheets, pictures and the theme's own variables."""
    page = progress().html
    assert not re.search(r"<(svg|style|script|img)|var\(|inherit|currentColor|aria-", page)


def _followed(passed: set[str]) -> list[str]:
    """Return the exercises of the course as somebody passes them who always takes the next one."""
    order = []
    while (one := next_exercise(COURSE, passed)) is not None:
        order.append(one.name)
        passed = passed | {one.name}
    return order


def test_the_next_exercise_is_the_next_of_the_course_and_bonus_tasks_come_last() -> None:
    every = list(COURSE.exercises.values())
    bonus = [e.name for e in every if e.kind == "bonus"]
    assert _followed(set()) == [e.name for e in every if e.kind != "bonus"] + bonus


def test_a_skipped_warm_up_comes_after_everything_else() -> None:
    every = list(COURSE.exercises.values())
    skipped = [e.name for e in every if e.kind == "warmup"]
    last = next(e.name for e in reversed(every) if e.kind == "exercise")
    order = _followed({last})
    assert skipped
    assert order[-len(skipped) :] == skipped
    assert order[0] == next(e.name for e in every if e.kind == "exercise")


@pytest.mark.parametrize("name", COURSE.exercises)
def test_every_exercise_has_its_place_and_minutes(name: str) -> None:
    exercise = COURSE.exercise(name)
    found = section(COURSE.lesson(exercise.lesson), name)
    assert name in found.heading
    assert exercise.minutes
    assert re.fullmatch("[★☆]{3}", found.stars)
    notebook, _, cell = found.link.partition("#cell-id=")
    document = json.loads((ROOT / "lessons" / "any" / notebook).resolve().read_text(encoding="utf-8"))
    assert cell in [one["id"] for one in document["cells"]], "the link leads somewhere"


def test_minutes_in_words() -> None:
    assert [duration(m) for m in (0.2, 59.4, 60, 61, 125)] == [
        "1분",
        "59분",
        "1시간",
        "1시간 1분",
        "2시간 5분",
    ]


def test_hints_about_mended_mistakes_are_counted() -> None:
    """They were left out after the pass, although the export has them."""
    learner = Progress.load()
    learner.record([happened("check", "train_step", passed=False, mistakes=["missing-step"])])
    learner.record([happened("hint", "train_step", number=n, mistake="missing-step") for n in (1, 2)])
    learner.record_check("train_step", passed=True)
    content = overview(Progress.load())
    assert "힌트 2" in progress_text(content)
    page = progress_html(content)
    assert "힌트 2" in page
    assert "그 밖에" in page.partition("<details")[2], "achievements far away are folded"


def test_practice_has_a_place_and_every_exercise_a_link() -> None:
    """What the clinic has today, the best times of the drill, and from each row into its notebook."""
    Progress.load().record_check("train_step", passed=True)
    BestTimes().record("train_step", 42.34)
    shown = progress()
    for text in (shown.text, plain(shown.html)):
        assert "오늘의 클리닉:" in text
        assert "여는 명령: clinic()" in text
        assert "드릴에서 가장 빨랐던 기록: train_step 42.3초" in text
    for exercise in COURSE.exercises.values():
        assert section(COURSE.lesson(exercise.lesson), exercise.name).link in shown.html
    assert "href" not in progress_html(overview(Progress.load()), links=False)


def test_many_mistakes_come_back_in_portions() -> None:
    assert comes_back(date(date.today().year, 11, 28), 5) == "다음에 볼 실수 5개는 11월 28일에 나와요."
    assert comes_back(date(date.today().year, 11, 28), 14) == (
        "다음에 볼 실수 14개는 11월 28일부터 하루에 5개씩 나와요."
    )


def test_a_pass_with_the_answer_is_told_and_comes_back_in_the_drill() -> None:
    """The list said `힌트 5`; functions had their names in the terminal only."""
    day = date.fromtimestamp(1e9)
    record(
        ("check", "train_step", {"passed": False, "mistakes": ["missing-zero-grad"]}),
        ("hint", "train_step", {"number": 9, "answer": True}),
        ("check", "train_step", {"passed": True}),
    )
    shown = progress()
    for text in (shown.text, plain(shown.html)):
        assert "확인 2 · 정답을 보고 통과" in text
        assert "힌트 1" not in text
        assert "만난 실수 1개 · 넘어선 실수 0개" in text
        assert "(train_step_extras)" in text
        assert 'drill("train_step")' in text
    assert not any("기억만으로" in line for line in practice_lines(day, "", "grader drill {}"))
    (line,) = [one for one in practice_lines(date.today(), "", "grader drill {}") if "기억만으로" in one]
    assert line.endswith("`grader drill train_step`")
    Progress.load().record_drill("train_step")
    assert not any("기억만으로" in line for line in practice_lines(date.today(), "", "grader drill {}"))
    assert "넘어선 실수 1개" in progress().text


def test_mistakes_whose_lines_were_told_and_the_queue_are_explained() -> None:
    road = [["missing-zero-grad", ["", "", "고칠 줄"]]]
    record(
        ("check", "train_step", {"passed": False, "mistakes": ["missing-zero-grad"], "road": road}),
        ("hint", "train_step", {"number": 3, "mistake": "missing-zero-grad", "lines": True}),
        ("check", "train_step", {"passed": True}),
    )
    shown = progress()
    for text in (" ".join(shown.text.split()), plain(shown.html)):
        assert "만난 실수 1개 · 넘어선 실수 0개" in text
        assert "고칠 줄이나 정답을 보고 고친 실수는" in text
        assert "만난 실수 1개는 잊을 만할 때 클리닉에서 다시 나와요. 하루에 많아야 5개이고" in text
