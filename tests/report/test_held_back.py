"""With `repair = "after-hint"` in the policy, students read the symptom first; the name is in a fold."""

import json
import re
from dataclasses import replace
from pathlib import Path

import pytest

from grader.course.feedback import ClassResult, Diagnosis, FirstDifference
from grader.gradebook.export.github import step_summary
from grader.gradebook.export.junit import junit_xml
from grader.gradebook.marking import Rules, marked
from grader.gradebook.policy import PolicyError, read_policy
from grader.report.hold_back import without_repair
from grader.report.results import from_json, to_json
from grader.report.write_report import write_report
from tests.report import samples

SYMPTOM = "업데이트에 지난 배치들의 그레이디언트까지 들어갔어요"


def class_of_one() -> ClassResult:
    """A class of one who makes a mistake with a measured symptom."""
    feedback = samples.named_mistake()
    named = replace(feedback.diagnosis.mistakes[0], symptom=f"{SYMPTOM}. 두 번째 스텝부터 커져요.")
    feedback = replace(feedback, diagnosis=replace(feedback.diagnosis, mistakes=(named,)))
    result = samples.small_class()
    return replace(result, submissions=(replace(result.submissions[0], feedbacks=(feedback,), extras=()),))


def policy(tmp_path: Path, text: str) -> Rules:
    path = tmp_path / "policy.toml"
    path.write_text(text, encoding="utf-8")
    return Rules(read_policy(path))


def test_the_policy_holds_the_repair_back_on_what_students_read(tmp_path: Path) -> None:
    result = marked(class_of_one(), policy(tmp_path, 'repair = "after-hint"'), ["train_step"])
    result = from_json(to_json(result))
    assert result.repair == "after-hint"
    write_report(tmp_path, result, samples.course())
    (page,) = (path.read_text(encoding="utf-8") for path in (tmp_path / "feedback").glob("*.html"))
    page = re.sub(r"</?code[^>]*>", "", page)
    before, *folds = page.split("<main>")[1].split("<details")
    assert SYMPTOM in before
    assert "zero_grad" not in before
    names = [re.sub(r"<[^>]+>", "", fold.split("</summary>")[0].split(">", 2)[2]) for fold in folds[:3]]
    assert names == ["힌트 1 · 증상", "힌트 2 · 볼 곳", "힌트 3 · 고칠 것"]
    assert "opt.zero_grad()" in folds[2]
    assert "opt.zero_grad()" not in folds[0] + folds[1]
    (gradescope,) = (tmp_path / "gradescope").glob("*/results.json")
    for text in (
        json.loads(gradescope.read_text(encoding="utf-8"))["tests"][0]["output"],
        junit_xml(result),
        step_summary(result),
    ):
        assert SYMPTOM in text
        assert "zero_grad" not in text
    assert "opt.zero_grad()" in re.sub(
        r"</?code[^>]*>", "", (tmp_path / "index.html").read_text(encoding="utf-8")
    )


def test_without_the_policy_the_page_names_it(tmp_path: Path) -> None:
    write_report(tmp_path, class_of_one(), samples.course())
    (page,) = (path.read_text(encoding="utf-8") for path in (tmp_path / "feedback").glob("*.html"))
    assert "opt.zero_grad()" in re.sub(r"</?code[^>]*>", "", page).split("<details")[0]


def test_another_value_is_refused(tmp_path: Path) -> None:
    with pytest.raises(PolicyError, match="at-once"):
        policy(tmp_path, 'repair = "later"')


_SAME = "두 번째 업데이트부터 매개변수가 달라요"


@pytest.mark.parametrize(
    ("what", "expected", "got", "told"),
    [
        (_SAME, "0.1", "0.2", _SAME),
        (
            "매개변수가 바뀐 횟수",
            *("5번", "0번"),
            "매개변수가 정답에서는 5번 바뀌는데, 내 코드에서는 한 번도 바뀌지 않았어요",
        ),
        ("첫 번째 호출", "예외 없이 끝남", "ValueError: x", "첫 번째 호출에서 예외가 났어요 (ValueError)"),
        (
            "첫 번째 호출",
            *("ValueError", "예외 없이 끝남"),
            "첫 번째 호출에서 예외(ValueError)가 나야 하는데 그냥 끝났어요",
        ),
        ("첫 번째 반환값", "0.123456", "0.3", "첫 번째 반환값이 정답과 달라요"),
        ("반환 타입", "float", "Tensor", "반환 타입이 정답과 달라요 (내 코드는 Tensor, 정답은 float)"),
        (
            "e의 크기(e의 노름 ÷ ρ)",
            *("1", "2"),
            "e의 크기(e의 노름 ÷ ρ)가 정답과 달라요 (내 코드는 2, 정답은 1)",
        ),
        ("print를 부름", "아니요", "예", "‘print를 부름’: 내 코드는 예, 정답은 아니요"),
    ],
)
def test_without_a_sentence_the_measured_difference_is_the_symptom(
    what: str, expected: str, got: str, told: str
) -> None:
    """Neither numbers that say nothing nor names of elements come first; counts and types do."""
    feedback = samples.named_mistake()
    tensor = "0.weight[3]" if what == _SAME else None
    first = FirstDifference("SGD", what, expected, got, tensor=tensor)
    named = replace(feedback.diagnosis.mistakes[0], symptom="", difference=first)
    held = without_repair(replace(feedback, diagnosis=Diagnosis((named,))))
    assert held.diagnosis.mistakes[0].titles == (told,)
