"""Uploads that are made to end a grading run, or that a broken disk makes: what one student may hand in as a zip."""

import io
import os
import struct
import warnings
import zipfile
from collections.abc import Callable, Mapping
from pathlib import Path

from tests.intake.downloads import CODE, packed

_LOCAL, _CENTRAL = b"PK\x03\x04", b"PK\x01\x02"


def _corrupt(method: int) -> bytes:
    """One entry whose data is compressed in this way and then damaged; the directory is whole."""
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", method) as archive:
        archive.writestr("hw.py", CODE * 200)
    data = bytearray(file.getvalue())
    start = 30 + len("hw.py")
    for at in range(start + 9, data.index(_CENTRAL) - 4, 3):
        data[at] ^= 0xA5
    return bytes(data)


def _one_name(count: int) -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for _ in range(count):
            archive.writestr("hw.py", "")
    return file.getvalue()


def _bomb() -> bytes:
    """1 GB of zeros in 1 MB."""
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("hw0.py", b"#" * (64 * 2**20))
    one = packed({f"{n}.zip": file.getvalue() for n in range(16)})
    return packed({"hw.zip": one})


def _within_itself() -> bytes:
    """Eight archives in each, twenty deep: 8 ** 20 files where nobody counts."""
    inner = packed({"hw.py": CODE})
    for _ in range(20):
        inner = packed({f"{n}.zip": inner for n in range(8)})
    return inner


def _names() -> bytes:
    """Names that lead elsewhere, that end early, that are no text, that no file system takes."""
    names = [
        "../../up.py",
        "/tmp/hanstep-up.py",
        "C:\\up.py",
        "..",
        "...",
        "con.py",
        "a/../../b.py",
        "x" * 300 + ".py",
    ]
    names += [
        "/".join(["y" * 250] * 30) + "/hw.py",
        "z" * 60_000 + ".py",
        "N\x01L.py",
        "S\x02.py",
        "9" * 5_000 + ".py",
    ]
    data = packed(dict.fromkeys(names, CODE))
    return data.replace(b"N\x01L.py", b"N\0L.py").replace(b"S\x02.py", b"S\xed.py")


def _locked() -> bytes:
    data = bytearray(packed({"hw.py": CODE}))
    for at in (data.find(_LOCAL) + 6, data.find(_CENTRAL) + 8):
        data[at] |= 1
    return bytes(data)


def _huge_directory(count: int = 600_000) -> bytes:
    """A directory of 32 MB that says that there are so many entries, all of them one."""
    local = packed({"hw.py": CODE})
    local = local[: local.index(_CENTRAL)]
    entry = (
        _CENTRAL
        + struct.pack("<4B4HL2L5H2L", 20, 3, 20, 0, 0, 0, 0, 33, 0, 0, 0, 7, 0, 0, 0, 0, 0, 0)
        + b"hw00.py"
    )
    size = len(entry) * count
    end = struct.pack("<4s4H2LH", b"PK\x05\x06", 0, 0, count & 0xFFFF, count & 0xFFFF, size, len(local), 0)
    return local + entry * count + end


ZIPS: Mapping[str, Callable[[], bytes]] = {
    "lzma": lambda: _corrupt(zipfile.ZIP_LZMA),
    "bzip2": lambda: _corrupt(zipfile.ZIP_BZIP2),
    "deflate": lambda: _corrupt(zipfile.ZIP_DEFLATED),
    "deep path": lambda: packed({"d/" * 975 + "hw.py": CODE}),
    "one name": lambda: _one_name(4_000),
    "bomb": _bomb,
    "within itself": _within_itself,
    "names": _names,
    "truncated": lambda: packed({"hw.py": CODE * 500})[:120],
    "locked": _locked,
    "huge directory": _huge_directory,
}
"""By what is wrong with it."""


def deep_folder(top: Path, levels: int) -> Path:
    """Folders within folders, with a program in the last; step by step, for the path may be too long for one."""
    top.mkdir(parents=True, exist_ok=True)
    folder = os.open(top, os.O_RDONLY)
    for _ in range(levels):
        os.mkdir("d", dir_fd=folder)
        inner = os.open("d", os.O_RDONLY, dir_fd=folder)
        os.close(folder)
        folder = inner
    file = os.open("hw.py", os.O_WRONLY | os.O_CREAT, dir_fd=folder)
    os.write(file, CODE.encode())
    os.close(file)
    os.close(folder)
    return top
