"""Make the files with which other systems run this grader: `autograder.zip` for Gradescope, a workflow for GitHub."""

import importlib.metadata
import io
import re
import shlex
import tomllib
import zipfile
from collections.abc import Iterator, Sequence
from pathlib import Path

from grader import paths
from grader.base.installing import release, repository
from grader.base.package import FOLDER
from grader.gradebook.export.rows import ExportError
from grader.submission.find_files import is_skipped

_FILES = Path(__file__).parent / "files"
"""Folder of the files that are exported as they are, apart from placeholders such as `@OPTIONS@`."""
_NEEDED = (".py", ".toml", ".json", ".j2", ".css", ".js", ".sh")
_NAME = re.compile(r"^[A-Za-z0-9][\w.-]*")
_EXECUTABLE = 0o100755
"""Unix file types and permissions, which Gradescope needs to run the two scripts."""
_PLAIN = 0o100644
_WHEN = (2026, 1, 1, 0, 0, 0)
"""Fixed time stamp, so that the same content makes the same archive."""


def gradescope_zip(options: Sequence[str]) -> bytes:
    """Return an autograder to upload: `setup.sh`, `run_autograder`, and this grader with the course's answers.

    Args:
        options: options of `grader grade`, such as `--lesson 01`.

    Raises:
        CourseNotFound: there is no course to include.
        ExportError: a package that must be installed there is not installed here, so its version is unknown.
    """
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        _add(archive, "setup.sh", _text("setup.sh"), _EXECUTABLE)
        _add(
            archive,
            "run_autograder",
            _text("run_autograder").replace("@OPTIONS@", shlex.join(options)),
            _EXECUTABLE,
        )
        _add(archive, "not_graded.json", _text("not_graded.json"))
        _add(archive, "requirements.txt", "".join(f"{line}\n" for line in _requirements()))
        for name, path in _course_files():
            _add(archive, f"hanstep/{name}", path.read_bytes())
    return file.getvalue()


def classroom_workflow(options: Sequence[str], install: str) -> str:
    """Return the text of `.github/workflows/classroom.yml` for the repository that students start from.

    Args:
        options: options of `grader grade`.
        install: what pip installs: a name with its version, or a repository's address.

    Raises:
        ExportError: `install` is empty or contains white space.
    """
    if not install.strip() or any(character.isspace() for character in install):
        raise ExportError(
            f"--install에는 pip이 설치할 것을 띄어쓰기 없이 하나 적어 주세요. 받은 값: '{install}'"
        )
    text = _text("classroom.yml").replace("@INSTALL@", shlex.quote(install))
    return text.replace(" @OPTIONS@", "".join(f" {shlex.quote(word)}" for word in options))


def default_install() -> str:
    """Return the address from which pip installs this version.

    Raises:
        ExportError: nobody has said yet where the course lives.
    """
    if not repository():
        raise ExportError(
            "강의가 어디에 있는지 아직 적혀 있지 않아요. --install에 pip이 설치할 주소를 적어 주세요: "
            "--install git+https://github.com/주인/이름"
        )
    return release(repository())


def _text(name: str) -> str:
    return (_FILES / name).read_text(encoding="utf-8")


def _add(archive: zipfile.ZipFile, name: str, content: str | bytes, mode: int = _PLAIN) -> None:
    info = zipfile.ZipInfo(name, _WHEN)
    info.external_attr = mode << 16
    info.compress_type = zipfile.ZIP_DEFLATED
    archive.writestr(info, content)


def _course_files() -> Iterator[tuple[str, Path]]:
    """Yield name and path of each file to include.

    These are the package, the course's table of contents, the answers, and the stand-in that the sandbox shows for
    absent packages. Notebooks and pictures are not needed.
    """
    package, root = FOLDER, paths.course_root()
    yield "lessons/course.toml", paths.lessons_path("course.toml")
    absent = paths.asset_path("absent_package")
    for folder, below in ((package, package.parent), (root / "solutions", root), (absent, root)):
        for path in sorted(folder.rglob("*")):
            name = path.relative_to(below)
            ours = path.parent == _FILES or path.suffix in _NEEDED
            if path.is_file() and ours and not any(map(is_skipped, name.parts)):
                yield name.as_posix(), path


def _requirements() -> list[str]:
    """Return hanstep's dependencies, pinned to the versions installed here."""
    project = paths.course_root() / "pyproject.toml"
    if project.is_file():
        wanted = tomllib.loads(project.read_text(encoding="utf-8"))["project"]["dependencies"]
    else:
        wanted = importlib.metadata.requires("hanstep") or []
    found = []
    for line in wanted:
        name = _NAME.match(line)
        if name is None or "extra ==" in line:
            continue
        try:
            version = importlib.metadata.version(name.group())
        except importlib.metadata.PackageNotFoundError as error:
            raise ExportError(
                f"설치되어 있지 않은 패키지가 있어요: {name.group()}. pip install {shlex.quote(line)}"
            ) from error
        # Local versions such as `+cpu` are not on the package index.
        found.append(f"{name.group()}=={version.partition('+')[0]}")
    return found
