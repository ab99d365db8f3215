"""Write text that others wrote as a spreadsheet cell that is shown, not calculated."""

from grader.report.plain_text import one_line

# The apostrophe is listed, and so doubled, so that `=a` and `'=a` stay two names.
_FORMULA_STARTS = ("'", "=", "+", "-", "@", "\t", "\r", "\n", "＝", "＋", "－", "＠")


def cell(text: str) -> str:
    """Return `text` in one line, with an apostrophe in front if a spreadsheet would take it for a formula."""
    shown = one_line(text)
    return f"'{shown}" if text.startswith(_FORMULA_STARTS) or shown.startswith(_FORMULA_STARTS) else shown
