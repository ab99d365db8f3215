"""Open a tar archive, or a single packed file, of any compression: unpacked into a temporary file of limited size."""

import bz2
import gzip
import lzma
import tarfile
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from io import BytesIO
from pathlib import Path
from typing import IO, Any

TARS = (".tar", ".tgz", ".tar.gz", ".tbz2", ".tar.bz2", ".txz", ".tar.xz")
_DECODERS: dict[str, Callable[[IO[bytes]], Any]] = {
    "gz": gzip.open,
    "bz2": bz2.open,
    "xz": lzma.open,
}
"""End of a file's name -> what decodes it."""
_BLOCK = 2**20


class TooLarge(ValueError):
    """An archive is larger, unpacked, than it may be; the message is Korean."""


class TarContents:
    """The files of an open tar archive."""

    def __init__(self, archive: tarfile.TarFile) -> None:
        self._archive = archive

    def entries(self) -> Iterator[tuple[tarfile.TarInfo, str, bool]]:
        """Yield member, path and whether it is a link, for whatever is no folder."""
        for member in self._archive:
            if not member.isdir():
                yield member, member.name, member.issym() or member.islnk()

    def open(self, member: tarfile.TarInfo) -> IO[bytes]:
        """Open a member for reading; one that is no regular file, such as a pipe, is empty."""
        return self._archive.extractfile(member) or BytesIO()


class SingleFile:
    """A packed file without an archive around it, as `gzip` makes it."""

    def __init__(self, file: IO[bytes], name: str, size: int) -> None:
        self._file = file
        self._member = tarfile.TarInfo(name)
        self._member.size = size

    def entries(self) -> Iterator[tuple[tarfile.TarInfo, str, bool]]:
        """Yield the one file."""
        yield self._member, self._member.name, False

    def open(self, _member: tarfile.TarInfo) -> IO[bytes]:
        """Open the file for reading."""
        self._file.seek(0)
        return self._file


@contextmanager
def opened_tar(archive: Path, name: str, most: int) -> Iterator[TarContents | SingleFile]:
    """Open an archive.

    Args:
        archive: the file.
        name: its name, whose suffixes tell its kind.
        most: maximum bytes, unpacked.

    Raises:
        TooLarge: it is larger than that.
        tarfile.TarError, OSError, EOFError, zlib.error, lzma.LZMAError: it is broken.
    """
    kind = {"tgz": "gz", "tbz2": "bz2", "txz": "xz"}.get(suffix := name.lower().rpartition(".")[2], suffix)
    with tempfile.TemporaryFile() as unpacked:
        with archive.open("rb") as file:
            source = _DECODERS[kind](file) if kind in _DECODERS else file
            size = 0
            while block := source.read(_BLOCK):
                size += len(block)
                if size > most:
                    raise TooLarge(
                        f"풀면 {most / 2**20:.0f} MB가 넘어서 읽지 않았어요. 낼 파일만 압축해 주세요."
                    )
                unpacked.write(block)
        unpacked.seek(0)
        if name.lower().endswith(TARS):
            with tarfile.open(fileobj=unpacked, mode="r:") as tar:
                yield TarContents(tar)
        else:
            yield SingleFile(unpacked, name.rpartition("/")[2].rpartition(".")[0], size)
