"""Text that others wrote, as a cell that a spreadsheet shows instead of calculating it."""

from grader.report.plain_text import one_line

# An apostrophe is doubled, so that `=a` and `'=a` stay two names.
_FORMULA_STARTS = ("'", "=", "+", "-", "@", "\t", "\r", "\n", "＝", "＋", "－", "＠")


def cell(text: str) -> str:
    """One line, and no formula."""
    shown = one_line(text)
    return f"'{shown}" if text.startswith(_FORMULA_STARTS) or shown.startswith(_FORMULA_STARTS) else shown
