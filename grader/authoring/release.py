"""Refuse to publish a release whose notebooks and messages would send learners to the wrong place.

    python -m grader.authoring.release v0.2.0 OWNER/NAME     # the tag, and the repository in which it was pushed

Run by `.github/workflows/release.yml` before anything is installed, so it needs nothing but Python.
"""

import sys

from grader.base.installing import owner_and_name
from grader.base.package import VERSION


def problem(tag: str, here: str) -> str:
    """Return in Korean why this tag may not be published from the repository `here` (`OWNER/NAME`); empty if it may."""
    if not owner_and_name():
        return (
            "pyproject.toml의 [project.urls] Repository가 비어 있어요. 강의가 있는 곳을 적고 `grader build`로 "
            f'노트북을 다시 만들어 주세요: Repository = "https://github.com/{here}"'
        )
    if owner_and_name().casefold() != here.casefold():
        return f"pyproject.toml의 Repository는 {owner_and_name()}인데 태그는 {here}에 올라왔어요. 하나를 고쳐 주세요."
    if tag != f"v{VERSION}":
        return (
            f"태그는 {tag}인데 grader/base/package.py의 VERSION은 {VERSION}이에요. "
            f"VERSION을 고치거나 태그를 다시 달아 주세요: git tag v{VERSION}"
        )
    return ""


if __name__ == "__main__":
    sys.exit(problem(*sys.argv[1:3]))
