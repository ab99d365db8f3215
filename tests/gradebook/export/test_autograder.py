"""`autograder.zip` in a folder laid out as Gradescope's harness does, and the workflow for GitHub Classroom."""

import json
import os
import re
import subprocess
import sys
import zipfile
from io import BytesIO
from pathlib import Path

import jsonschema
import pytest
import yaml

from grader.base.installing import release
from grader.base.package import VERSION
from grader.gradebook.export import autograder as exporting
from grader.gradebook.export.autograder import classroom_workflow, default_install, gradescope_zip
from grader.gradebook.export.rows import ExportError
from tests.gradebook.export.test_reports import SCHEMA
from tests.places import ROOT

RIGHT = ROOT / "tests" / "accepted" / "sgd_update" / "copy.py"


@pytest.fixture(scope="module")
def autograder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What Gradescope makes of the archive: `source` unpacked, `submission` and `results` beside it."""
    root = tmp_path_factory.mktemp("autograder")
    with zipfile.ZipFile(BytesIO(gradescope_zip(["--lesson", "01"]))) as archive:
        for info in archive.infolist():
            path = Path(archive.extract(info, root / "source"))
            path.chmod(info.external_attr >> 16)
    for name in ("submission", "results"):
        (root / name).mkdir()
    return root


def ended(root: Path, **environment: str) -> dict[str, object]:
    """Run the autograder, and read what it wrote for Gradescope."""
    (root / "results" / "results.json").unlink(missing_ok=True)
    subprocess.run(
        [root / "source" / "run_autograder"],
        env={**os.environ, "AUTOGRADER_ROOT": str(root), "AUTOGRADER_PYTHON": sys.executable, **environment},
        cwd=root,
        capture_output=True,
        timeout=300,
        check=True,
    )
    document: dict[str, object] = json.loads((root / "results" / "results.json").read_text(encoding="utf-8"))
    jsonschema.validate(document, SCHEMA)
    return document


def test_the_archive_holds_what_gradescope_asks_for(autograder: Path) -> None:
    """Both scripts at the root, executable, with a first line that says what runs them."""
    for name in ("setup.sh", "run_autograder"):
        script = autograder / "source" / name
        assert os.access(script, os.X_OK)
        assert script.read_text(encoding="utf-8").startswith("#!/usr/bin/env bash\n")
        subprocess.run(["bash", "-n", script], check=True)
    pinned = (autograder / "source" / "requirements.txt").read_text(encoding="utf-8").splitlines()
    assert all(re.fullmatch(r"[\w.-]+==[\w.!]+", line) for line in pinned), pinned
    assert {"torch", "msgspec", "typer"} <= {line.split("==")[0] for line in pinned}


def test_the_same_version_makes_the_same_archive() -> None:
    assert gradescope_zip([]) == gradescope_zip([])


def test_only_what_grading_needs_is_in_it() -> None:
    with zipfile.ZipFile(BytesIO(gradescope_zip([]))) as archive:
        names = archive.namelist()
        size = sum(info.file_size for info in archive.infolist())
    assert "hanstep/grader/__main__.py" in names
    assert "hanstep/solutions/01_five_line_step/train_step.toml" in names
    assert not [name for name in names if "__pycache__" in name or name.endswith((".ipynb", ".png", ".ttf"))]
    assert size < 8 * 2**20


@pytest.mark.sandbox
def test_it_grades_a_submission(autograder: Path) -> None:
    (autograder / "submission" / "hw.py").write_text(RIGHT.read_text(encoding="utf-8"), encoding="utf-8")
    document = ended(autograder)
    by_name = {test["name"].split("(")[-1].rstrip(")"): test for test in document["tests"]}  # type: ignore[attr-defined]
    assert by_name["sgd_update"]["status"] == "passed"
    assert by_name["train_step"]["status"] == "failed"
    assert document["score"] == by_name["sgd_update"]["max_score"]


def test_what_cannot_be_graded_is_no_fault_of_the_student(autograder: Path, tmp_path: Path) -> None:
    broken = tmp_path / "python"
    broken.write_text("#!/bin/sh\nexit 2\n")
    broken.chmod(0o755)
    document = ended(autograder, AUTOGRADER_PYTHON=str(broken))
    assert "낸 파일이 아니라" in str(document["output"])


# ---- GitHub ------------------------------------------------------------------------------------------


def test_the_workflow_has_the_names_that_classroom_reads() -> None:
    """The reporter's README: a workflow called Autograding Tests, with one job called run-autograding-tests."""
    workflow = yaml.safe_load(
        classroom_workflow(["--lesson", "01"], release("https://github.com/owner/course"))
    )
    assert workflow["name"] == "Autograding Tests"
    assert list(workflow["jobs"]) == ["run-autograding-tests"]
    assert workflow[True] == ["push", "workflow_dispatch"]  # `on` is a truth value in YAML 1.1
    steps = workflow["jobs"]["run-autograding-tests"]["steps"]
    script = "\n".join(step.get("run", "") for step in steps)
    assert "grader grade class --out report --lesson 01" in script
    assert "grader export report --to github" in script
    assert "@" not in re.sub(r"uses: \S+", "", script)
    for step in steps:
        if "run" in step:
            subprocess.run(["bash", "-n", "-c", step["run"]], check=True)
    assert workflow["permissions"] == {"actions": "read", "contents": "read"}


def test_what_pip_installs_is_where_the_course_lives(monkeypatch: pytest.MonkeyPatch) -> None:
    """Never a name alone: anybody could publish a package under it."""
    monkeypatch.setattr(exporting, "repository", lambda: "")
    with pytest.raises(ExportError, match="--install git"):
        default_install()
    monkeypatch.setattr(exporting, "repository", lambda: "https://github.com/owner/course")
    assert default_install() == (
        f"https://github.com/owner/course/releases/download/v{VERSION}/hanstep-{VERSION}-py3-none-any.whl"
    )


def test_what_pip_installs_is_one_word_and_quoted() -> None:
    text = classroom_workflow([], "hanstep@git+https://example.com/x;rm")
    assert "pip install --quiet 'hanstep@git+https://example.com/x;rm'" in text
    for wrong in ("", "a b", "a\nrun: evil"):
        with pytest.raises(ExportError, match="--install"):
            classroom_workflow([], wrong)
