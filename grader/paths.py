"""Where the course's files are: beside the package in a checkout, under `share/hanstep` when installed."""

import os
import sysconfig
from pathlib import Path

from grader.base.errors import HanstepError

_CHECKOUT = Path(__file__).resolve().parent.parent
_INSTALLED = tuple(
    Path(sysconfig.get_path("data", scheme)) / "share" / "hanstep"
    for scheme in (sysconfig.get_default_scheme(), sysconfig.get_preferred_scheme("user"))
)
"""Where pip puts a package's files, and where it puts them for a user who may not write there."""


class CourseNotFound(HanstepError):
    """The course's files are nowhere."""


def course_root() -> Path:
    """The folder that holds `lessons/`, `solutions/` and `assets/`.

    Raises:
        CourseNotFound: neither a checkout nor an installed copy is there.
    """
    places = (_CHECKOUT, *_INSTALLED)
    for root in places:
        if (root / "lessons" / "course.toml").is_file():
            return root
    raise CourseNotFound(
        f"강의 파일(lessons/course.toml)을 찾을 수 없어요. 찾아본 곳: {', '.join(map(str, places))}. "
        "다시 설치해 주세요: pip install --force-reinstall hanstep"
    )


def is_checkout() -> bool:
    """Whether the course runs from a checkout, where solutions can be edited and built."""
    return course_root() == _CHECKOUT


def user_folder() -> Path:
    """Where this user's own files are kept; the environment variable HANSTEP_HOME moves it (tests and CI do)."""
    home = os.environ.get("HANSTEP_HOME")
    if home:
        return Path(home)
    import platformdirs

    return platformdirs.user_data_path("hanstep")


def asset_path(*parts: str) -> Path:
    """A file or folder below `assets/`."""
    return course_root().joinpath("assets", *parts)


def lessons_path(*parts: str) -> Path:
    """A file or folder below `lessons/`."""
    return course_root().joinpath("lessons", *parts)


def solutions_path(*parts: str) -> Path:
    """A file or folder below `solutions/`."""
    return course_root().joinpath("solutions", *parts)
