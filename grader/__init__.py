"""한 스텝's grader: notebooks import what stands in `__all__` from here; the command line does the rest.

This file imports nothing until one of them is asked for: it also stands inside the sandbox, where the
notebook side and every module that knows answers are missing.
"""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from grader.learning.drill import drill
    from grader.learning.magnify import microscope
    from grader.learning.notebook import check, hint
    from grader.learning.predictions import predict, reveal

__all__ = ["check", "drill", "hint", "microscope", "predict", "reveal"]
__version__ = "0.2.0"


def __getattr__(name: str) -> Any:
    if name in ("check", "hint"):
        from grader.learning import notebook

        return getattr(notebook, name)
    if name == "drill":
        from grader.learning import drill

        return drill.drill
    if name == "microscope":
        from grader.learning import magnify

        return magnify.microscope
    if name in ("predict", "reveal"):
        from grader.learning import predictions

        return getattr(predictions, name)
    raise AttributeError(f"module 'grader' has no attribute {name!r}")
