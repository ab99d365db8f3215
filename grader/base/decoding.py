"""Read the bytes of a handed-in file and decode them: the only place that opens a submission's files."""

import codecs
import os
import re
import shlex
from pathlib import Path

from grader.base.files import NotRegular, open_folder_below, open_regular
from grader.base.names import ENCODINGS, display_name

MAX_FILE_BYTES = 100 * 1024 * 1024
"""Maximum size of a file in bytes: GitHub's own, too. A notebook of a hundred plots stays below it."""

_BOMS = (  # UTF-32 before UTF-16, because its little-endian mark begins with UTF-16's
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32-le"),
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
_COOKIE = re.compile(rb"^[ \t\f]*#.*?coding[:=][ \t]*([-\w.]+)")
# Python's names of the codecs a cookie may ask for. Some others (punycode, unicode_escape) are not encodings of text
# files, and are slow on large ones.
_COOKIE_CODECS = frozenset(
    ("utf-8", "ascii", "iso8859-1", "cp1252", "cp949", "euc_kr", "johab", "iso2022_kr", "euc_jp", "gbk")
)
_NOT_REGULAR = "보통 파일이 아니에요(링크, 파이프, 장치). 파일 자체를 내 주세요."
_SURROGATES = re.compile("[\ud800-\udfff]")


class ReadError(ValueError):
    """A handed-in file cannot be read; the message is Korean and ends with the remedy."""


def read_text(path: Path, root: Path | None = None) -> str:
    r"""Read a text file whatever its encoding; lines end in `\n`, and a byte order mark is removed.

    A byte order mark decides first, then a PEP 263 cookie (in any file but `.ipynb`), then UTF-8 and cp949 are tried.
    A cookie that contradicts the bytes is ignored. A link is not followed, and only a regular file is read, because
    reading a pipe could block for ever.

    Args:
        path: the file.
        root: a folder above the file; no link below this folder is followed either.

    Raises:
        ReadError: the file cannot be opened, is not a regular file, is larger than `MAX_FILE_BYTES`, or is not text.
    """
    text, _ = _decoded(read_bytes(path, root), has_cookie=path.suffix.lower() != ".ipynb")
    if "\0" in text:
        raise ReadError("텍스트 파일이 아니에요(NUL 문자가 있어요). 파일을 열어 UTF-8로 다시 저장해 주세요.")
    return unix_lines(text)


def decode(data: bytes) -> str:
    """Decode the bytes of a text as `read_text` does that of a file without a cookie.

    Raises:
        ReadError: it is not text.
    """
    return unix_lines(_decoded(data, has_cookie=False)[0])


def decode_unchanged(data: bytes) -> tuple[str, str]:
    """Return the text of a file with its own line ends, and its encoding: `utf-8`, `utf-8-sig`, `cp949`.

    Raises:
        ReadError: it is not text.
    """
    text, encoding = _decoded(data, has_cookie=False)
    return text, "utf-8-sig" if data.startswith(codecs.BOM_UTF8) else encoding


def unix_lines(text: str) -> str:
    """Normalize line ends as Python's own reader does, and replace lone surrogates by U+FFFD.

    JSON can contain lone surrogates, but they cannot be encoded, so no file could be written with one in it.
    """
    return _SURROGATES.sub("\ufffd", text.replace("\r\n", "\n").replace("\r", "\n"))


def read_bytes(path: Path, root: Path | None = None) -> bytes:
    """Return the bytes of a regular file, at most `MAX_FILE_BYTES`, even if it grows while it is read.

    Raises:
        ReadError: as `read_text`, except that any bytes are accepted.
    """
    try:
        with os.fdopen(_opened(path, root), "rb") as file:
            size = os.fstat(file.fileno()).st_size
            if size > MAX_FILE_BYTES:
                raise ReadError(_too_large(path, size))
            data = file.read(MAX_FILE_BYTES + 1)
    except NotRegular as error:
        raise ReadError(_NOT_REGULAR) from error
    except OSError as error:
        raise ReadError(_cannot_open(path, error)) from error
    if len(data) > MAX_FILE_BYTES:
        raise ReadError(_too_large(path, len(data)))
    return data


def _opened(path: Path, root: Path | None) -> int:
    """Open a regular file, following no link below `root`, and return its descriptor."""
    # Windows has no `dir_fd`; only a learner's own file is read there, never a class.
    if root is None or os.open not in os.supports_dir_fd:
        return open_regular(path)
    folder = open_folder_below(root, path.parent)
    try:
        return open_regular(path.name, dir_fd=folder)
    finally:
        os.close(folder)


def _decoded(data: bytes, *, has_cookie: bool) -> tuple[str, str]:
    """Decode the bytes of a text file by its byte order mark, its cookie, or by trying encodings; return that too."""
    for mark, encoding in _BOMS:
        if data.startswith(mark):
            try:
                return data[len(mark) :].decode(encoding), encoding
            except UnicodeDecodeError as error:
                raise ReadError(
                    f"{encoding.upper()} 표시(BOM)로 시작하지만 내용이 달라요. UTF-8로 다시 저장해 주세요."
                ) from error
    for encoding in (*(_cookie(data) if has_cookie else ()), *ENCODINGS):
        try:
            return data.decode(encoding), encoding
        except UnicodeDecodeError:
            continue
    raise ReadError(
        "글자를 읽을 수 없어요(UTF-8도 cp949도 아니에요). 편집기에서 UTF-8로 다시 저장해 주세요."
        " VS Code라면 아래 줄의 인코딩 이름 → 'Save with Encoding' → 'UTF-8'이에요."
    )


def _cookie(data: bytes) -> tuple[str, ...]:
    """Return the codec that a PEP 263 cookie asks for, as a tuple of one; empty if there is none that is allowed."""
    for line in data.split(b"\n", 2)[:2]:
        found = _COOKIE.match(line)
        if found:
            try:
                codec = codecs.lookup(found[1].decode("ascii", "replace")).name
            except (LookupError, ValueError):
                return ()
            return (codec,) if codec in _COOKIE_CODECS else ()
    return ()


def _too_large(path: Path, size: int) -> str:
    mebibyte = 1024 * 1024
    message = f"너무 커요: {size / mebibyte:.1f} MB예요. {MAX_FILE_BYTES // mebibyte} MB까지 읽어요."
    if path.suffix.lower() == ".ipynb":
        name = shlex.quote(display_name(path.name))
        return f"{message} 출력을 지우고 다시 내 주세요: jupyter nbconvert --clear-output --inplace {name}"
    return f"{message} 데이터는 빼고 코드만 내 주세요."


def _cannot_open(path: Path, error: OSError) -> str:
    if isinstance(error, FileNotFoundError):
        return "파일이 없어요. 경로를 확인해 주세요."
    if isinstance(error, PermissionError):
        name = shlex.quote(display_name(path.name))
        return f"읽을 권한이 없어요. 권한을 준 다음 다시 해 주세요: chmod u+r {name}"
    return f"열 수 없어요({error.strerror or type(error).__name__}). 파일을 다시 받아 주세요."
