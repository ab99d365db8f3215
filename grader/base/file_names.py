"""Derive file names from names that students chose, so that they are valid and safe on every system."""

import hashlib
import unicodedata
from collections.abc import Collection, Sequence

_MAX_BYTES = 120
"""Maximum bytes of a name in UTF-8. File systems allow 255, and an ending and a temporary name must fit too."""

_RESERVED = {"con", "prn", "aux", "nul", *(f"{port}{n}" for port in ("com", "lpt") for n in range(1, 10))}
_FORBIDDEN = set("<>:\"/\\|?*%#&'`$;!{}")  # characters with a meaning in Windows paths, URLs and shells
_UNSAFE_CATEGORIES = {"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"}


def safe_filename(name: str, taken: Collection[str] = ()) -> str:
    """Return a file name, without ending, that reads like `name`; Hangul is kept.

    A name that had to be changed carries a fingerprint of the original. So two names that would become equal stay
    distinct, and a name always yields the same file name, whatever other names are in the class.

    Args:
        name: name of a student's folder or file.
        taken: names already given. They are avoided regardless of case, because Windows and macOS ignore it.
    """
    return _free(name, {_key(other) for other in taken})


def file_names(students: Sequence[str]) -> list[str]:
    """Return a unique file name for each student, in their order; the same class always gets the same names."""
    given: list[str] = []
    taken: set[str] = set()
    for student in students:
        given.append(_free(student, taken))
        taken.add(_key(given[-1]))
    return given


def _free(name: str, avoid: Collection[str]) -> str:
    """Do the same as `safe_filename`, given the names to avoid as returned by `_key`."""
    wanted = _readable(name)
    if wanted != name:
        wanted = _with_fingerprint(wanted, name)
    candidate, count = wanted, 1
    while _key(candidate) in avoid:
        count += 1
        candidate = _with_fingerprint(wanted, f"{name}\0{count}")
    return candidate


def _readable(name: str) -> str:
    """Return a name that reads like `name` and is safe on every system; `student` if nothing is left of it."""
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
    """Cut a text to `size` bytes of UTF-8 without splitting a character."""
    return text.encode("utf-8")[:size].decode("utf-8", "ignore").rstrip(". ")


def _key(name: str) -> str:
    """Return the form in which two names are compared: composed Hangul, case ignored."""
    return unicodedata.normalize("NFC", name).casefold()
