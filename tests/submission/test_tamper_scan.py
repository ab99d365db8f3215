"""Code that reaches for the grader is shown to the instructor, and to nobody else; honest code never is."""

from pathlib import Path

import pytest

from grader.course.feedback import ClassResult, SubmissionResult
from grader.course.reading import load_course
from grader.report.results import from_json, to_json
from grader.report.write_report import write_report
from grader.submission.submission import read_submission
from grader.submission.tamper_scan import suspicious_lines
from tests.places import ROOT
from tests.sample_programs import samples

EXERCISES = tuple(load_course().exercises)


def scrutinised(path: Path) -> tuple[str, ...]:
    return suspicious_lines(read_submission(path, EXERCISES))


def test_names_and_places_are_told(tmp_path: Path) -> None:
    code = (
        "import sys\n\ndef train_step(model, opt, loss_fn, xb, yb):\n    return sys._getframe(1).f_globals\n"
    )
    (tmp_path / "hw.py").write_text(code)
    assert scrutinised(tmp_path / "hw.py") == ("hw.py: _getframe(4번째 줄), f_globals(4번째 줄)",)


@pytest.mark.parametrize(
    "reach",
    [
        "model.observer.run",
        "opt.zero_grad.__wrapped__.__self__",
        "model.forward.__globals__",
        "opt._optimizer_step_pre_hooks.clear()",
        "model._forward_hooks.clear(), model._forward_pre_hooks.clear()",
        "__import__('grader.sandbox.inside.server')",
    ],
)
def test_names_of_what_observes_are_told(tmp_path: Path, reach: str) -> None:
    (tmp_path / "hw.py").write_text(f"def train_step(model, opt, loss_fn, xb, yb):\n    return {reach}\n")
    assert len(scrutinised(tmp_path / "hw.py")) == 1


def test_code_hidden_in_a_string_is_seen(tmp_path: Path) -> None:
    (tmp_path / "hw.py").write_text("def fit(*a, **k):\n    exec('import grader.observe.recorder')\n")
    assert scrutinised(tmp_path / "hw.py") == ("hw.py: grader.observe(2번째 줄)",)


def test_what_was_seen_while_it_ran_is_told_with_its_line(tmp_path: Path) -> None:
    """It comes first: it happened, whatever the text says."""
    (tmp_path / "hw.py").write_text("def fit(*a, **k):\n    f_back\n    getattr(sys, '_get' + 'frame')()\n")
    handed_in = read_submission(tmp_path / "hw.py", EXERCISES)
    seen = {"hw.py": [("sys._getframe", 3), ("sys._getframe", 3)]}
    assert suspicious_lines(handed_in, seen) == ("hw.py: sys._getframe(3번째 줄, 실행 중), f_back(2번째 줄)",)


def test_honest_code_is_not_accused(tmp_path: Path) -> None:
    honest = [*(ROOT / "solutions").glob("*/*.py"), *(right.write(tmp_path) for right in samples("accepted"))]
    accused = {str(path): told for path in honest if (told := scrutinised(path))}
    assert accused == {}


def test_only_the_instructor_reads_it(tmp_path: Path) -> None:
    secret = "hw.py: _getframe(4번째 줄)"
    result = ClassResult(7, "cpu", "bwrap", (SubmissionResult("s01", (), scrutiny=(secret,)),))
    assert from_json(to_json(result)) == result
    write_report(tmp_path, result, load_course())
    holding = [
        p.name for p in sorted(tmp_path.rglob("*")) if p.is_file() and secret in p.read_text("utf-8-sig")
    ]
    assert holding == ["index.html", "results.json"]
