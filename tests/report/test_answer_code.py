"""A student's whole answer stands on the student's page, one click from the map, and nothing in it is markup."""

from dataclasses import replace
from pathlib import Path

import pytest

from grader.course.feedback import ClassResult, Feedback, SubmissionResult
from grader.report import kept_answers
from grader.report.answer_code import answer_lines
from grader.report.results import from_json
from grader.report.write_report import write_report
from grader.submission.submission import read_files, read_submission
from tests.intake.downloads import write
from tests.report import samples
from tests.report.parsed import Parsed
from tests.report.test_class_page import page_of

CODE = "def train_step(model):\n    # <script>alert(1)</script>\u202e\x1b[2J\n\n    opt.step()  # 한 걸음\n    return 1"


def with_code() -> Feedback:
    """The mistake is told at line 7 of cell 3."""
    return replace(samples.named_mistake(), code=CODE, code_line=4, code_cell=3)


def result(feedback: Feedback) -> ClassResult:
    first, *others = samples.small_class().submissions
    changed = replace(first, feedbacks=(feedback, *first.feedbacks[1:]))
    return replace(samples.small_class(), submissions=(changed, *others))


def test_lines_are_numbered_as_the_learner_counts() -> None:
    lines = answer_lines(with_code())
    assert [line.number for line in lines] == [4, 5, 6, 7, 8]
    assert [line.told for line in lines] == [(), (), (), ("opt.zero_grad()를 부르지 않았어요",), ()]
    assert lines[1].text == "    # <script>alert(1)</script>\\u202e\\x1b[2J"
    assert not any(line.told for line in answer_lines(replace(with_code(), code_cell=2)))
    assert not any(line.told for line in answer_lines(with_code(), tell=False))
    assert answer_lines(samples.named_mistake()) == []


def test_an_exception_stands_at_its_line() -> None:
    raised = replace(
        with_code(), status="error", line=8, error="TypeError: <b>", diagnosis=samples.Diagnosis()
    )
    assert answer_lines(raised)[-1].told == ("TypeError: <b>",)
    assert answer_lines(replace(raised, error=None))[-1].told == ("문법 오류",)


PROGRAM = "import torch\n\ndef train_step(model):\n    return 1\n"
BROKEN = "import torch\n\n\ndef train_step(model):\n    loss = (\n    return 1\n"


@pytest.mark.parametrize(
    ("program", "first", "last"), [(PROGRAM, 3, "    return 1"), (BROKEN, 4, "    return 1")]
)
def test_it_stands_in_one_file_and_every_report_finds_it_there(
    program: str, first: int, last: str, tmp_path: Path
) -> None:
    """Not in the results as well; code that does not parse has the lines of its file, too."""
    (tmp_path / "hw.py").write_text(program, encoding="utf-8")
    starter = replace(samples.named_mistake(), exercise="fit", begun=False)
    student = SubmissionResult("김하윤", (samples.named_mistake(), starter))
    graded = ClassResult(7, "cpu", "bwrap", (student,))
    submission = read_files(tmp_path / "hw.py", "김하윤", ("train_step", "fit"))
    out = tmp_path / "report"
    out.mkdir()
    kept_answers.keep_answers(out, [submission], ("train_step", "fit"))
    for _ in range(2):
        write_report(out, graded, samples.course())
        page = (out / "feedback" / "김하윤.html").read_text(encoding="utf-8")
        assert page.count("낸 코드 전체") == 1
        assert 'id="code-train_step"' in page
        text = (out / "results.json").read_text(encoding="utf-8")
        assert "def train_step" not in text
        graded = from_json(text)
    lines = answer_lines(kept_answers.with_code(graded, out).submissions[0].feedbacks[0])
    assert (lines[0].number, lines[0].text, lines[-1].text) == (first, "def train_step(model):", last)


def test_the_students_page_has_it_and_the_map_leads_there(tmp_path: Path) -> None:
    write_report(tmp_path, result(with_code()), samples.course())
    page = (tmp_path / "feedback" / "김하윤.html").read_text(encoding="utf-8")
    read = Parsed(page.removeprefix("<!doctype html>"))
    assert "낸 코드 전체 (5줄, 코드 셀 3)" in read.text
    assert "<script" not in page
    assert "\u202e" not in page
    assert 'id="code-train_step"' in page
    assert 'href="feedback/%EA%B9%80%ED%95%98%EC%9C%A4.html#code-train_step"' in page_of(result(with_code()))


def test_names_are_held_back_where_the_card_holds_them_back(tmp_path: Path) -> None:
    write_report(tmp_path, replace(result(with_code()), repair="after-hint"), samples.course())
    page = (tmp_path / "feedback" / "김하윤.html").read_text(encoding="utf-8")
    code = page.partition('id="code-train_step"')[2].partition("</details>")[0]
    assert "한 걸음" in code
    assert "없어요" not in code


def test_an_answer_is_cut_out_of_the_file(tmp_path: Path) -> None:
    files = {
        "hw.py": "import torch\n\n\n@torch.no_grad()\ndef train_step(x):\n    # 말\n    return x\n\n\ntrain_step(1)\n",
        "b.py": "x = 1\ndef accumulate(x):\n    y = (x\n    return y\n",
    }
    submission = read_submission(write(tmp_path / "s", files), ("train_step", "accumulate"))
    source = submission.source_for("train_step")
    assert source is not None
    text, place = source.answer("train_step") or ("", None)
    assert text == "@torch.no_grad()\ndef train_step(x):\n    # 말\n    return x"
    assert place is not None
    assert place.line == 4
    broken = submission.source_for("accumulate")
    assert broken is not None
    text, place = broken.answer("accumulate") or ("", None)
    assert text.startswith("def accumulate(x):\n    y = (x")
    assert place is not None
    assert place.line == 2
    assert source.answer("sgd_update") is None
