"""Tell JupyterLab which code an output is about, so that it can mark outputs of code that has been changed since.

The mark is in the output itself and is saved with the notebook: it outlives the page and the kernel (`cards.js`).
"""

import html
import zlib
from typing import Any

from grader.notebook.own_answers import own_cell

_TRANSLATED = "get_ipython()"
"""Stands in a cell whose magics IPython has translated: its text is no longer the one that JupyterLab has."""


def with_seen_code(output: str, exercise: str, function: Any) -> str:
    """Return an output's HTML with a mark of the exercise and its cell's code; unchanged if the code is not known."""
    source = own_cell(function).strip()
    if not source or _TRANSLATED in source:
        return output
    code = zlib.adler32(source.encode("utf-8", "replace"))
    return f'<div data-hanstep-of="{html.escape(exercise)} {code}">{output}</div>'
