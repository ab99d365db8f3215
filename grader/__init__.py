"""한 스텝's grader: what a lesson imports is `check` and `hint`; everything else is reached through the command line.

Nothing is imported here until it is asked for, because this file also stands inside the sandbox, where
neither the notebook side nor anything that knows answers exists.
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
