"""한 스텝's grader: lessons import `check`, `hint`, `predict`, `reveal` from here, learners `progress` too.

This file imports nothing until one of them is asked for: it also stands inside the sandbox, where the
notebook side and every module that knows answers are missing.
"""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from grader.learning.notebook import check, hint
    from grader.learning.predictions import predict, reveal
    from grader.learning.progress_page import progress

__all__ = ["check", "hint", "predict", "progress", "reveal"]
__version__ = "0.2.0"


def __getattr__(name: str) -> Any:
    if name in ("check", "hint"):
        from grader.learning import notebook

        return getattr(notebook, name)
    if name in ("predict", "reveal"):
        from grader.learning import predictions

        return getattr(predictions, name)
    if name == "progress":
        from grader.learning import progress_page

        return progress_page.progress
    raise AttributeError(f"module 'grader' has no attribute {name!r}")
