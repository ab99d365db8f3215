"""File names for students: a folder or file name that students chose becomes one that is safe everywhere."""

import hashlib
import unicodedata
from collections.abc import Collection, Sequence

_MAX_BYTES = 120
"""Largest size of a name in UTF-8. File systems allow 255, and a temporary name and an ending must fit too."""

_RESERVED = {"con", "prn", "aux", "nul", *(f"{port}{n}" for port in ("com", "lpt") for n in range(1, 10))}
_FORBIDDEN = set("<>:\"/\\|?*%#&'`$;!{}")  # Windows, URLs and shells
_UNSAFE_CATEGORIES = {"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"}


def safe_filename(name: str, taken: Collection[str] = ()) -> str:
    """A file name (without ending) that reads like `name`; Hangul stays.

    A name that had to be changed carries a fingerprint of the original, so that two names which become equal
    stay apart and each name always becomes the same file, whatever else is in the class.

    Args:
        name: whatever a student's folder is called.
        taken: names already given; they are avoided without regard to case, as Windows and macOS do.
    """
    return _free(name, {_key(other) for other in taken})


def file_names(students: Sequence[str]) -> list[str]:
    """A file name for each student, in their order; the same class always gets the same names."""
    given: list[str] = []
    taken: set[str] = set()
    for student in students:
        given.append(_free(student, taken))
        taken.add(_key(given[-1]))
    return given


def _free(name: str, avoid: Collection[str]) -> str:
    """As `safe_filename`, with the names to avoid as `_key` makes them."""
    wanted = _readable(name)
    if wanted != name:
        wanted = _with_fingerprint(wanted, name)
    candidate, count = wanted, 1
    while _key(candidate) in avoid:
        count += 1
        candidate = _with_fingerprint(wanted, f"{name}\0{count}")
    return candidate


def _readable(name: str) -> str:
    composed = unicodedata.normalize("NFC", name)
    kept = "".join("_" if _unsafe(char) else char for char in composed)
    kept = " ".join(kept.split()).strip(". ")
    if kept.startswith("-") or kept.split(".")[0].rstrip().casefold() in _RESERVED:
        kept = f"_{kept}"
    return _cut(kept, _MAX_BYTES) or "student"


def _unsafe(char: str) -> bool:
    return char in _FORBIDDEN or unicodedata.category(char) in _UNSAFE_CATEGORIES


def _with_fingerprint(readable: str, original: str) -> str:
    mark = hashlib.sha256(original.encode("utf-8", "surrogatepass")).hexdigest()[:8]
    return f"{_cut(readable, _MAX_BYTES - 9)}-{mark}"


def _cut(text: str, size: int) -> str:
    return text.encode("utf-8")[:size].decode("utf-8", "ignore").rstrip(". ")


def _key(name: str) -> str:
    return unicodedata.normalize("NFC", name).casefold()
