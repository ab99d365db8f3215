"""Search a student's folder: decide which files are read, and note why the others are not."""

import os
from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path

from grader.base.files import open_folder_below
from grader.base.names import display_name, listed, natural
from grader.observe.wording import with_particle
from grader.submission import file_forms

MAX_FILES = 200
"""Maximum number of files read for one student; a whole course has a few dozen."""
_MAX_DOCUMENTS = 20
"""Maximum number of documents looked into for one student."""
MAX_ENTRIES = 20_000
"""Maximum number of directory entries looked at for one student."""
MAX_DEPTH = 20
"""Maximum nesting of folders."""

SUFFIXES = (".py", ".ipynb")
ARCHIVES = (
    ".zip",
    ".dbc",
    ".tar",
    ".tgz",
    ".tar.gz",
    ".tbz2",
    ".tar.bz2",
    ".txz",
    ".tar.xz",
    ".gz",
    ".bz2",
    ".xz",
)
"""Archives that `intake` opens before anything is read; `.dbc` is a zip file of Databricks."""
_KINDS_OF_ARCHIVE = {
    ".7z": "7-Zip 압축 파일",
    ".rar": "RAR 압축 파일",
    ".alz": "알집 압축 파일",
    ".egg": "알집 압축 파일",
    ".tar": "tar 파일",
    ".tgz": "tar 압축 파일",
    ".tbz2": "tar 압축 파일",
    ".txz": "tar 압축 파일",
    ".tar.gz": "tar 압축 파일",
    ".tar.bz2": "tar 압축 파일",
    ".tar.xz": "tar 압축 파일",
    ".gz": "gzip 압축 파일",
    ".bz2": "bzip2 압축 파일",
    ".xz": "xz 압축 파일",
}
OTHER_ARCHIVES = tuple(_KINDS_OF_ARCHIVE)
"""Archives that are not opened here."""
CLOSED_ARCHIVES = tuple(suffix for suffix in OTHER_ARCHIVES if not suffix.endswith(ARCHIVES))
"""Archives that are not opened anywhere."""
_CLOSED = "이대로는 열 수 없어요. 풀어서 .py나 .ipynb 파일을 내거나 zip으로 묶어 다시 내 주세요."
_SKIPPED = frozenset(("__pycache__", "__MACOSX", "site-packages", "node_modules"))
"""Names of folders that programs make; a student's own code is in none of them."""
LINK_MESSAGE = "폴더 밖으로 나가거나 끊어진 링크라서 따라가지 않았어요. 링크 대신 파일 자체를 내 주세요."


@dataclass(frozen=True)
class Unreadable:
    """A file, link or folder that could not be read."""

    name: str
    message: str
    """Reason and remedy, in Korean."""


def closed_archive(name: str) -> Unreadable:
    """Say of an archive that is not opened what it is and what to do."""
    kinds = [kind for suffix, kind in _KINDS_OF_ARCHIVE.items() if name.lower().endswith(suffix)]
    return Unreadable(name, f"{with_particle(kinds[0], '이에요/예요')}. {_CLOSED}")


@dataclass
class Found:
    """The result of searching a student's folder. Names are paths within that folder."""

    files: list[tuple[str, Path]] = field(default_factory=list)
    """(name, path) of each file to read."""
    documents: list[tuple[str, Path]] = field(default_factory=list)
    """(name, path) of each file that is no source but may hold code; at most `_MAX_DOCUMENTS`."""
    unreadable: list[Unreadable] = field(default_factory=list)
    others: list[str] = field(default_factory=list)
    """Files of other types, and virtual environments."""
    archives: list[str] = field(default_factory=list)
    """Archives that are not opened. They may hold data or, if there is no file to read, what was to be graded."""
    hidden: list[str] = field(default_factory=list)
    """Notebooks and `.py` files that were skipped because of their name."""
    links: list[str] = field(default_factory=list)
    """Links to something inside the folder, which is read at its real place."""

    def search(self, top: Path, root: Path | None = None) -> None:
        """Search the folder `top` breadth first, so that a limit cuts off what lies deepest.

        Args:
            top: the student's folder.
            root: a folder above `top`, below which no link is followed; None: `top`.
        """
        real_root = os.path.realpath(top)
        entries_left = MAX_ENTRIES
        queue = deque([(top, "", 0)])
        while queue:
            folder, prefix, depth = queue.popleft()
            try:
                entries = sorted(
                    _listed(folder, root or top, entries_left), key=lambda e: natural(display_name(e.name))
                )
            except OSError as error:
                message = f"폴더를 열 수 없어요({error.strerror}). 읽을 권한이 있는지 확인해 주세요."
                self.unreadable.append(Unreadable(prefix or "./", message))
                continue
            entries_left -= len(entries)
            if depth and any(entry.name == "pyvenv.cfg" for entry in entries):
                self.others.append(prefix)  # somebody's virtual environment
                continue
            for entry in entries:
                name = prefix + display_name(entry.name)
                if not self._take(entry, name, real_root):
                    continue
                if depth < MAX_DEPTH:
                    queue.append((entry.path, f"{name}/", depth + 1))
                else:
                    self._limit(f"{name}/", f"폴더가 {MAX_DEPTH}겹보다 깊어요.")
            if entries_left <= 0:
                self._limit("./", f"파일과 폴더가 {MAX_ENTRIES:,}개 넘게 있어요.")
                break
        if not self.files:
            self.unreadable += [closed_archive(name) for name in self.archives]

    def notes(self) -> Iterable[str]:
        """Yield Korean lines about entries that were skipped without being an error."""
        if self.links:
            yield f"링크는 따라가지 않고 원래 파일만 읽었어요: {listed(self.links)}"
        if self.hidden:
            yield f"이름이 점(.)으로 시작하는 파일은 읽지 않았어요: {listed(self.hidden)}"
        if self.archives and self.files:
            yield f"압축 파일은 열지 않고 다른 파일만 읽었어요: {listed(self.archives)}. {_CLOSED}"
        if self.others:
            yield f".py와 .ipynb만 읽어요. 읽지 않은 것: {listed(self.others)}"

    def _take(self, entry: "_Entry", name: str, root: str) -> bool:
        """Put an entry into the list it belongs to; return True if it is a folder to search."""
        is_source = file_forms.is_source(entry.name)
        if is_skipped(entry.name):
            # macOS adds "._x.ipynb" to archives beside "x.ipynb".
            if is_source and not entry.name.startswith("._"):
                self.hidden.append(name)
        elif entry.is_link:
            if link_target(entry.path, root) is None:
                self.unreadable.append(Unreadable(name, LINK_MESSAGE))
            else:
                self.links.append(name)
        elif entry.is_folder:
            return True
        elif entry.name.lower().endswith(OTHER_ARCHIVES):
            self.archives.append(name)
        elif not is_source:
            self.others.append(name)
            if file_forms.is_document(entry.name) and len(self.documents) < _MAX_DOCUMENTS:
                self.documents.append((name, entry.path))
        elif len(self.files) < MAX_FILES:
            self.files.append((name, entry.path))
        else:
            self._limit("./", f".py와 .ipynb 파일이 {MAX_FILES}개 넘게 있어요.")
        return False

    def _limit(self, name: str, what: str) -> None:
        limit = Unreadable(name, f"{what} 나머지는 읽지 않았어요. 낼 파일만 남겨 주세요.")
        if limit not in self.unreadable[-1:]:
            self.unreadable.append(limit)


@dataclass(frozen=True)
class _Entry:
    """One entry of a folder, as it was at the time of listing."""

    path: Path
    is_link: bool
    is_folder: bool

    @property
    def name(self) -> str:
        """File name."""
        return self.path.name


def _listed(folder: Path, root: Path, limit: int) -> list[_Entry]:
    """Return at most `limit` entries of a folder, following no link below `root`."""
    opened = open_folder_below(root, folder)
    try:
        with os.scandir(opened) as listing:
            return [
                _Entry(folder / entry.name, entry.is_symlink(), entry.is_dir(follow_symlinks=False))
                for entry in islice(listing, limit)
            ]
    finally:
        os.close(opened)


def is_skipped(name: str) -> bool:
    """Return True if a file or folder of this name is skipped: it is hidden, or a program made it."""
    return name.startswith(".") or name in _SKIPPED


def link_target(link: Path, root: str) -> Path | None:
    """Return a link's target if it exists inside `root`, else None. Existence outside `root` is not even tested."""
    try:
        target = os.path.realpath(link)
    except (
        OSError,
        RecursionError,
    ):  # Python 3.11 follows a chain of links recursively
        return None
    inside = target == root or target.startswith(root.rstrip(os.sep) + os.sep)
    return Path(target) if inside and os.path.lexists(target) and not os.path.islink(target) else None
