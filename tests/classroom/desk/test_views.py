"""What the desk shows: groups by behaviour, whole code with its marks, names only when they are released."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

from grader.classroom.desk.behaviour import groups_of
from grader.classroom.desk.card_tree import TAGS, card_tree
from grader.course.feedback import Person
from grader.report.html import feedback_html
from grader.report.kept_answers import Answers, keep_answers
from grader.report.results import from_json, write_results
from grader.submission.submission import read_files
from tests.classroom.desk.running import class_of, desk_over, right, write_class, wrong
from tests.report import samples


def test_answers_that_behave_alike_are_one_group(tmp_path: Path) -> None:
    """Most frequent first, then passed ones, then missing ones; who wrote the same code stands together."""
    write_class(tmp_path / "out", samples.large_class(40), tmp_path / "work")
    desk = desk_over(tmp_path / "out")
    groups = desk.exercise("train_step")["groups"]
    assert [(g["status"], g["students"]) for g in groups] == [("failed", 20), ("passed", 10), ("missing", 10)]
    assert "zero_grad" in groups[0]["title"]
    found = desk.answers("train_step", groups[0]["key"], 0)
    assert sum(p["count"] for p in found["programs"]) == 20 or found["total"] == 20
    assert len(found["programs"]) == 6
    rest = desk.answers("train_step", groups[0]["key"], 18)["programs"]
    assert len(rest) == found["total"] - 18


def test_groups_of_one_mistake_are_told_apart_by_an_exception_beside_it(tmp_path: Path) -> None:
    """Not by one that the mistake explains; a group without a mistake names its exception too."""
    missing = wrong("train_step", samples.MISSING_ZERO_GRAD)
    error = "NameError: name 'nn' is not defined"
    beside = replace(missing, error=error, diagnosis=replace(missing.diagnosis, unexplained=("AdamW",)))
    explained = replace(missing, error="ValueError: 1")
    alone = replace(samples.raised(), exercise="train_step", error=error)
    write_class(tmp_path / "out", class_of((missing,), (beside,), (explained,), (alone,)), tmp_path)
    titles = sorted(g["title"] for g in desk_over(tmp_path / "out").exercise("train_step")["groups"])
    mistake = next(title for title in titles if "zero_grad" in title)
    assert titles == sorted(
        [mistake, f"{mistake} (2)", f"{mistake} · {error}", f"코드에서 예외가 났어요 · {error}"]
    )


def test_a_group_of_files_that_cannot_be_read_has_no_name_of_one_of_them(tmp_path: Path) -> None:
    students = tuple(
        replace(
            s, feedbacks=tuple(replace(f, message=f"{s.student}.hwp: 읽을 수 없어요.") for f in s.feedbacks)
        )
        for s in (samples.all_of("가", "unreadable"), samples.all_of("나", "unreadable"))
    )
    result = replace(samples.large_class(4), submissions=students)
    write_class(tmp_path / "out", result, tmp_path / "work")
    (group,) = desk_over(tmp_path / "out").exercise("train_step")["groups"]
    assert (group["title"], group["students"]) == ("읽을 수 없는 파일", 2)


def test_a_group_is_not_called_by_the_line_of_one_of_its_syntax_errors(tmp_path: Path) -> None:
    broken = [
        replace(
            samples.raised(),
            exercise="train_step",
            error="",
            message=f"a.ipynb 코드 셀 8의 {n}번째 줄을 읽을 수 없어요.",
        )
        for n in (5, 6)
    ]
    write_class(tmp_path / "out", class_of(*([one] for one in broken)), tmp_path / "work")
    (group,) = desk_over(tmp_path / "out").exercise("train_step")["groups"]
    assert (group["title"], group["students"]) == ("문법 오류로 읽을 수 없는 줄이 있어요", 2)


def test_a_mistake_in_two_wordings_is_called_by_both(tmp_path: Path) -> None:
    other = replace(samples.MISSING_ZERO_GRAD, titles=("다른 말",))
    answers = [[wrong("train_step", one)] for one in (samples.MISSING_ZERO_GRAD, other)]
    write_class(tmp_path / "out", class_of(*answers), tmp_path / "work")
    (group,) = desk_over(tmp_path / "out").exercise("train_step")["groups"]
    assert group["title"].endswith("부르지 않았어요 / 다른 말")


def test_what_the_function_names_is_shown_beside_it(tmp_path: Path) -> None:
    """Also through each other; what nobody names, and an answer to another exercise, stay in the rest of the file."""
    program = """import torch

def scale(x):
    return x * 2

class Stepper:
    def step(self):
        return scale(1)

def unused():
    return 0

def fit():
    return 3


def train_step(model, opt, loss_fn, xb, yb):
    fit()
    return Stepper().step()
"""
    answers = [wrong("train_step", samples.MISSING_ZERO_GRAD), right("fit")]
    write_class(tmp_path / "out", class_of(answers), tmp_path / "work", program)
    desk = desk_over(tmp_path / "out")
    (group,) = desk.exercise("train_step")["groups"]
    (shown,) = desk.answers("train_step", group["key"], 0)["programs"]
    assert [text for _, _, text in shown["own"] if text] == [
        *("def scale(x):", "    return x * 2"),
        *("class Stepper:", "    def step(self):", "        return scale(1)"),
        *("def train_step(model, opt, loss_fn, xb, yb):", "    fit()", "    return Stepper().step()"),
    ]
    left = [text for _, _, text in shown["rest"]]
    assert {"import torch", "def unused():", "def fit():"} <= {*left}
    assert "class Stepper:" not in left


def test_the_whole_code_is_there_with_its_mark_and_its_place(tmp_path: Path) -> None:
    result = samples.large_class(4)
    named = replace(samples.MISSING_ZERO_GRAD, line=10, cell=None)
    feedback = samples.named_mistake()
    feedback = replace(feedback, diagnosis=replace(feedback.diagnosis, mistakes=(named,)), line=10, cell=None)
    students = tuple(replace(s, feedbacks=(feedback, *s.feedbacks[1:])) for s in result.submissions)
    write_class(tmp_path / "out", replace(result, submissions=students), tmp_path / "work")
    desk = desk_over(tmp_path / "out")
    (group,) = desk.exercise("train_step")["groups"]
    program = desk.answers("train_step", group["key"], 0)["programs"][0]
    assert program["own"][0] == [None, 7, "def train_step(model, opt, loss_fn, xb, yb):"]
    assert program["own"][-1] == [None, 13, "    return loss.item()"]
    assert program["rest"][0] == [None, 1, "import torch"]
    assert '# </pre><img src=x onerror="window.ran=1">' in program["rest"][2][2]
    assert program["marks"] == [
        {"cell": None, "line": 10, "text": "opt.zero_grad()를 부르지 않았어요", "side": ""}
    ]


def test_code_that_does_not_parse_and_decorators_are_kept(tmp_path: Path) -> None:
    for name, program, first, last in (
        (
            "broken",
            "import torch\n\ndef train_step(model):\n    loss = (\n    return 1\n",
            "def train_step(model):",
            "    return 1",
        ),
        (
            "decorated",
            "import torch\n@torch.enable_grad()\ndef train_step(model):\n    return 1\nx = 1\n",
            "@torch.enable_grad()",
            "    return 1",
        ),
    ):
        file = tmp_path / f"{name}.py"
        file.write_text(program, encoding="utf-8")
        keep_answers(tmp_path, [read_files(file, "s", ("train_step",))], ("train_step", "fit"))
        answers = Answers(tmp_path)
        found = answers.of("s", "train_step")
        assert found is not None
        assert (found.own[0].text, found.own[-1].text) == (first, last)
        assert answers.of("s", "fit") is None
        assert answers.of("nobody", "train_step") is None


def test_names_are_hidden_until_they_are_released(tmp_path: Path) -> None:
    """In the list, in file names, in code and in the card; the lines that are written name the student all the same."""
    result = samples.large_class(8)
    known = tuple(
        replace(
            s,
            person=Person(s.student.split("_")[0], "홍길동", login="gildong"),
            feedbacks=(replace(s.feedbacks[0], file=f"{s.student}.py"), *s.feedbacks[1:]),
        )
        for s in result.submissions
    )
    out = tmp_path / "out"
    program = "# 홍길동 GilDong {who}\ndef train_step(model):\n    return '홍길동'\n"
    write_class(out, replace(result, submissions=known), tmp_path / "work", program)
    desk = desk_over(out, anonymous=True)
    assert desk.overview()["anonymous"] is True

    def everything() -> str:
        views: list[Any] = [desk.overview(), desk.exercise("train_step")]
        views += [desk.answers("train_step", g["key"], 0) for g in views[1]["groups"]]
        views += [desk.found("학생"), desk.found("홍길동"), desk.found("20")]
        views += [desk.student(found["id"]) for found in desk.found("학생")["students"]]
        return json.dumps(views, ensure_ascii=False)

    group = desk.exercise("train_step")["groups"][0]
    student = desk.answers("train_step", group["key"], 0)["programs"][0]["students"][0]
    assert student["name"].startswith("학생 0")
    desk.judge({"exercise": "train_step", "scope": "student", "target": student["id"], "text": "좋아요"})
    assert "2026000" in (out / "comments.csv").read_text(encoding="utf-8")
    for name in ("홍길동", "2026000", "gildong", "GilDong"):
        assert name not in everything()
    desk.release()
    assert "홍길동" in everything()
    desk.undo()
    assert "홍길동" not in everything()


def test_a_card_as_a_tree_says_what_the_card_says_and_nothing_more() -> None:
    """Whatever a student wrote is text in it; tags are those that cards have."""

    def texts(tree: list[Any]) -> str:
        return "".join(part if isinstance(part, str) else texts(part[2]) for part in tree)

    def tags(tree: list[Any]) -> set[str]:
        return set().union(*({part[0]} | tags(part[2]) for part in tree if not isinstance(part, str)), set())

    for feedback in samples.every_kind().values():
        tree = card_tree(feedback_html(feedback))
        assert tags(tree) <= TAGS
    assert '<script>alert("x")</script>&' in texts(card_tree(feedback_html(samples.hostile())))
    smuggled = (
        "<div onclick=x><script>a</script><img src=x onerror=y><b style='color:red'>b</b><svg>c</svg></div>"
    )
    assert card_tree(f"{smuggled}d") == [["div", "", [["b", "color:red", ["b"]]]], "d"]


def test_results_that_changed_on_disk_are_read_again(tmp_path: Path) -> None:
    out = tmp_path / "out"
    write_class(out, samples.large_class(4), tmp_path / "work")
    desk = desk_over(out)
    assert desk.overview()["students"] == 4
    result = from_json((out / "results.json").read_bytes())
    write_results(out / "results.json", replace(result, submissions=result.submissions[:3]))
    assert desk.overview()["students"] == 3


def test_groups_of_one_title_are_told_apart_by_the_first_check_that_differs(tmp_path: Path) -> None:
    """Or by a number, where the checks are the same and the values differ."""
    one = wrong("train_step", samples.MISSING_ZERO_GRAD)
    flipped = replace(one, checks=tuple(replace(check, passed=not check.passed) for check in one.checks))
    unexplained = replace(one, diagnosis=replace(one.diagnosis, unexplained=("AdamW",)))
    titles = [group.title for group in groups_of(class_of([one], [flipped]).submissions, "train_step")]
    first = one.checks[0].title.replace("`", "")
    assert len(set(titles)) == 2
    assert all(f" · {first}" in title for title in titles)
    numbered = [group.title for group in groups_of(class_of([one], [unexplained]).submissions, "train_step")]
    assert len(set(numbered)) == 2
