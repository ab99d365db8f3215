"""Read a file in which Git left the marks of a merge that it could not finish."""

import re

_MARK = re.compile(r"^(<{7}|\|{7}|={7}|>{7})(?: [^\n]*+)?(?:\n|\Z)", re.MULTILINE)
_ORDER = {"<": "", "|": "<", "=": "<|", ">": "="}
"""First character of a mark -> those of the marks that may stand before it; empty: none is open."""


def sides(text: str) -> tuple[str, str] | None:
    """Return the text as each of the two branches has it; None if there are no marks, or not in the order Git writes.

    The base, which Git writes between `|||||||` and `=======` if asked, belongs to neither.
    """
    if "<<<<<<<" not in text:
        return None
    ours: list[str] = []
    theirs: list[str] = []
    is_open, start = "", 0
    for mark in _MARK.finditer(text):
        kind = mark[1][0]
        if is_open not in _ORDER[kind] or (kind != "<" and not is_open):
            if kind == "=" and not is_open:
                continue  # a line of seven `=` underlines a heading
            return None
        piece = text[start : mark.start()]
        if is_open in ("", "<"):
            ours.append(piece)
        if is_open in ("", "="):
            theirs.append(piece)
        is_open, start = "" if kind == ">" else kind, mark.end()
    if is_open or not start:
        return None
    return "".join((*ours, text[start:])), "".join((*theirs, text[start:]))
