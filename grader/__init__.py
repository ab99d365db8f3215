"""한 스텝's grader: lessons import `check` and `hint` from here; the command line reaches everything else.

This file imports nothing until `check` or `hint` is asked for: it also stands inside the sandbox, where the
notebook side and every module that knows answers are missing.
"""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from grader.learning.notebook import check, hint

__all__ = ["check", "hint"]
__version__ = "0.2.0"


def __getattr__(name: str) -> Any:
    if name in __all__:
        from grader.learning import notebook

        return getattr(notebook, name)
    raise AttributeError(f"module 'grader' has no attribute {name!r}")
