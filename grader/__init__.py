"""한 스텝's grader: notebooks import what stands in `__all__` from here; the command line does the rest.

Importing this file imports no room that works: it also stands inside the sandbox, where the notebook side and every
module that knows answers are missing. Nothing inside `grader` imports from it.
"""

from typing import TYPE_CHECKING, Any

from grader.base.package import NOTEBOOK_FUNCTIONS, VERSION

if TYPE_CHECKING:
    from grader.notebook.check import check, hint
    from grader.notebook.microscope import microscope
    from grader.notebook.predictions import predict, reveal
    from grader.practice.clinic_cell import clinic
    from grader.practice.drill_cell import drill
    from grader.practice.progress_page import progress
    from grader.scripts.with_block import xray

__version__ = VERSION
__all__ = ["check", "clinic", "drill", "hint", "microscope", "predict", "progress", "reveal", "xray"]


def __getattr__(name: str) -> Any:
    if name not in NOTEBOOK_FUNCTIONS:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(f"{__name__}.{NOTEBOOK_FUNCTIONS[name]}"), name)
