"""Say where the course lives, and with which command it is installed.

The address is one setting, `[project.urls] Repository` in `pyproject.toml`. Notebooks, the site, generated workflows
and messages are built from it. It is empty until the course's owner fills it in: anybody could publish a package under
the name of one that is not published yet, so no command of ours installs by name alone.
"""

import importlib.metadata
import re
import shlex
import tomllib
from functools import cache

from grader.base.errors import HanstepError
from grader.base.package import FOLDER, VERSION

_PROJECT = FOLDER.parent / "pyproject.toml"
_ADDRESS = re.compile(r"https://github\.com/([A-Za-z0-9][A-Za-z0-9-]*/[A-Za-z0-9._-]+)/?")

FROM_CHECKOUT = (
    "bash .ci/system-packages && python3 -m venv .venv && bash .ci/cpu-torch .venv && "
    ".venv/bin/pip install -c constraints.txt -e . && .venv/bin/grader start"
)
"""The line by which a learner with Debian or Ubuntu installs and starts the course, in its repository's folder."""


class AddressError(HanstepError):
    """The setting holds something that is no address of a GitHub repository."""


@cache
def repository() -> str:
    """Return `https://github.com/OWNER/NAME`, where the course lives; empty while the setting is.

    Raises:
        AddressError: the setting is something else.
    """
    address = _setting()
    if not address:
        return ""
    found = _ADDRESS.fullmatch(address)
    if found is None:
        raise AddressError(
            f"pyproject.toml의 [project.urls] Repository는 https://github.com/주인/이름처럼 적어 주세요. "
            f"받은 값: {address!r}"
        )
    return f"https://github.com/{found[1].removesuffix('.git')}"


def _setting() -> str:
    """Return the setting from `pyproject.toml` or, where the course is installed, from the package's metadata."""
    if _PROJECT.is_file():
        project = tomllib.loads(_PROJECT.read_text(encoding="utf-8"))["project"]
        return str(project.get("urls", {}).get("Repository", ""))
    try:
        lines = importlib.metadata.metadata("hanstep").get_all("Project-URL") or []
    except importlib.metadata.PackageNotFoundError:
        return ""
    found = dict(line.split(", ", 1) for line in lines if ", " in line)
    return str(found.get("Repository", "")).strip()


def owner_and_name() -> str:
    """Return `OWNER/NAME` of the repository; empty while the setting is."""
    return repository().removeprefix("https://github.com/")


def release(address: str) -> str:
    """Return where this version's wheel is, once it is released, of the repository at `address`."""
    return f"{address}/releases/download/v{VERSION}/hanstep-{VERSION}-py3-none-any.whl"


def archive(address: str) -> str:
    """Return where the newest state of the repository at `address` can be downloaded."""
    return f"{address}/archive/refs/heads/main.zip"


def install_command(extra: str = "", *, again: str = "") -> str:
    """Return the pip command that installs the course, for a message.

    Args:
        extra: name of an optional part, such as `ray`.
        again: option for a course that is there already: `--upgrade` or `--force-reinstall`.
    """
    option = f"{again} " if again else ""
    part = f"[{extra}]" if extra else ""
    if _PROJECT.is_file():
        return f"pip install {option}-e {shlex.quote(f'{FOLDER.parent}{part}')}"
    if repository():
        return f"pip install {option}'hanstep{part} @ {archive(repository())}'"
    return f"pip install {option}'받은-wheel-파일.whl{part}'"
