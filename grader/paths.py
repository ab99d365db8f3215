"""Find the course's files: beside the package in a checkout, under `share/hanstep` when installed."""

import os
import sysconfig
from pathlib import Path

from grader.base.errors import HanstepError
from grader.base.installing import install_command

_CHECKOUT = Path(__file__).resolve().parent.parent
_INSTALLED = tuple(
    Path(sysconfig.get_path("data", scheme)) / "share" / "hanstep"
    for scheme in (sysconfig.get_default_scheme(), sysconfig.get_preferred_scheme("user"))
)
"""Folders where pip puts a package's data files: system-wide, and for a user without permission to write there."""


class CourseNotFound(HanstepError):
    """The course's files cannot be found."""


def course_root() -> Path:
    """Return the folder that holds `lessons/`, `solutions/` and `assets/`.

    Raises:
        CourseNotFound: there is neither a checkout nor an installed copy.
    """
    places = (_CHECKOUT, *_INSTALLED)
    for root in places:
        if (root / "lessons" / "course.toml").is_file():
            return root
    raise CourseNotFound(
        f"강의 파일(lessons/course.toml)을 찾을 수 없어요. 찾아본 곳: {', '.join(map(str, places))}. "
        f"다시 설치해 주세요: {install_command(again='--force-reinstall')}"
    )


def is_checkout() -> bool:
    """True if the course runs from a checkout, where solutions can be edited and built."""
    return course_root() == _CHECKOUT


def user_folder() -> Path:
    """Return the folder for this user's own data; the environment variable HANSTEP_HOME overrides it, as in tests."""
    home = os.environ.get("HANSTEP_HOME")
    if home:
        return Path(home)
    import platformdirs

    return platformdirs.user_data_path("hanstep")


def asset_path(*parts: str) -> Path:
    """Return the path of a file or folder below `assets/`."""
    return course_root().joinpath("assets", *parts)


def lessons_path(*parts: str) -> Path:
    """Return the path of a file or folder below `lessons/`."""
    return course_root().joinpath("lessons", *parts)


def solutions_path(*parts: str) -> Path:
    """Return the path of a file or folder below `solutions/`."""
    return course_root().joinpath("solutions", *parts)
