"""Find the IPython shell that runs the notebook."""

import sys
from typing import Any


def running_shell() -> Any:
    """Return the IPython shell of this process; None outside a notebook, where IPython may not even be imported."""
    return getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)()
