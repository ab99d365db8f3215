"""한 스텝's grader: notebooks import what stands in `__all__` from here; the command line does the rest.

This file imports nothing until one of them is asked for: it also stands inside the sandbox, where the
notebook side and every module that knows answers are missing.
"""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from grader.casebook.cell import clinic
    from grader.learning.drill import drill
    from grader.learning.magnify import microscope
    from grader.learning.notebook import check, hint
    from grader.learning.predictions import predict, reveal
    from grader.learning.progress_page import progress

__all__ = ["check", "clinic", "drill", "hint", "microscope", "predict", "progress", "reveal"]
__version__ = "0.2.0"

_MODULES = {
    "check": "learning.notebook",
    "clinic": "casebook.cell",
    "drill": "learning.drill",
    "hint": "learning.notebook",
    "microscope": "learning.magnify",
    "predict": "learning.predictions",
    "progress": "learning.progress_page",
    "reveal": "learning.predictions",
}
"""Where each is, by what it is asked for."""


def __getattr__(name: str) -> Any:
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(f"{__name__}.{_MODULES[name]}"), name)
