"""A release is published only from where the course says that it lives, and only as the version it has."""

import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from grader.authoring import release
from grader.authoring.release import problem
from grader.base.package import VERSION

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize(
    ("setting", "tag", "here", "expected"),
    [
        ("", f"v{VERSION}", "o/n", 'Repository = "https://github.com/o/n"'),
        ("a/b", f"v{VERSION}", "o/n", "a/b인데 태그는 o/n에"),
        ("o/n", "v9.9.9", "o/n", f"git tag v{VERSION}"),
        ("o/n", f"v{VERSION}", "O/n", ""),
    ],
)
def test_what_is_refused(
    setting: str, tag: str, here: str, expected: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(release, "owner_and_name", lambda: setting)
    said = problem(tag, here)
    assert expected in said if expected else said == ""


def test_the_workflow_asks_first_and_needs_nothing_installed() -> None:
    """With Python alone (-S: no site-packages). The exit status is 1 while the setting of this checkout is empty."""
    workflow = yaml.safe_load((ROOT / ".github" / "workflows" / "release.yml").read_text(encoding="utf-8"))
    (script,) = [
        s["run"] for s in workflow["jobs"]["build"]["steps"] if "grader.authoring" in s.get("run", "")
    ]
    runs = [step.get("run", "") for step in workflow["jobs"]["build"]["steps"]]
    assert runs.index(script) < next(place for place, run in enumerate(runs) if "build" in run.split())
    done = subprocess.run(
        [sys.executable, "-S", *script.split()[1:3], "v0.0.0", "o/n"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 1
    assert "Traceback" not in done.stderr
    assert "Repository" in done.stderr or "태그는" in done.stderr
