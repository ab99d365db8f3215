"""What is committed: nothing that tells where it was made, and a top level that holds what the README says."""

import re
import subprocess
from pathlib import Path

import pytest

from tests.places import ROOT


def repository_files() -> list[Path]:
    """Everything that is or would be committed."""
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT, capture_output=True, text=True, check=False,
    )  # fmt: skip
    if listed.returncode != 0:
        pytest.skip("not a git checkout")
    return [ROOT / name for name in listed.stdout.split("\0") if name and (ROOT / name).is_file()]


def test_no_file_tells_where_it_was_made() -> None:
    """Paths of an author's machine mean nothing elsewhere; generated notebooks are where they slip in."""
    machine = re.compile(
        r"(?<![\w.$}~-])/(?:home|Users|root|work|opt)/[\w.-]+|ipykernel_\d+|[A-Z]:\\\\?Users"
    )
    told = []
    for path in repository_files():
        name = path.relative_to(ROOT).as_posix()
        about_paths = name.startswith(("tests/attacks/", "assets/sample_class/")) or path.name.startswith(
            "test_"
        )
        if about_paths or path.suffix in (".ttf", ".png", ".woff2"):
            continue
        text = path.read_text(encoding="utf-8", errors="replace")
        told += [f"{name}: {found}" for found in machine.findall(text)]
    assert not told


def test_the_top_level_holds_what_the_readme_says() -> None:
    visible = {path.relative_to(ROOT).parts[0] for path in repository_files()}
    fixed = {"pyproject.toml", "README.md", "lessons", "solutions", "grader", "tests", "assets"}
    allowed = fixed | {"LICENSE", "LICENSE-texts", "CHANGELOG.md", "CONTRIBUTING.md", "constraints.txt"}
    assert fixed <= visible
    assert {name for name in visible if not name.startswith(".")} <= allowed
