"""Start JupyterLab with the few lines that a learner reads in the terminal translated to Korean.

`grader start` runs this as `python -m grader.workspace.jupyterlab` with JupyterLab's own options. Messages about real
trouble stay as Jupyter writes them.
"""

import importlib
import logging
import sys
from collections.abc import Callable
from typing import Any

TERMINAL = {
    "No web browser found: %r.": "브라우저를 찾지 못했어요. 아래 주소를 브라우저에 붙여 넣으세요.%.0r",
    "To access the server, open this file in a browser:": "브라우저가 열리지 않으면 이 파일을 브라우저에서 여세요:",
    "Or copy and paste one of these URLs:": "또는 아래 주소 가운데 하나를 브라우저에 붙여 넣으세요:",
    "To access the server, copy and paste one of these URLs:": "아래 주소 가운데 하나를 브라우저에 붙여 넣으세요:",
    "Shut down this Jupyter server (%s/[%s])? ": "JupyterLab을 끝낼까요? 끝내려면 %s를 치고 Enter (그대로 두려면 %s): ",
    "Shutdown confirmed": "끝낼게요.",
    "Shutting down...": "끝낼게요.",
    "received signal %s, stopping": "끝낼게요.%.0s",
}
"""Korean text by Jupyter's text. `%.0r` consumes a value that Jupyter formats in, and shows nothing of it."""

_NOTHING_TO_DO = (
    "is not trusted",  # a lesson that was not saved yet
    "websocket_ping_timeout",  # Jupyter asks tornado for more than it takes, which is then what is used
    # A tab of yesterday's server asks today's for its kernel, which does not exist here any more:
    "Kernel does not exist",
    "404 GET /api/kernels/",
    "expired login cookie",
    "403 GET /api/",
    "wrote error: 'Forbidden'",
)
"""Parts of harmless warnings that would only make a learner wonder; the browser shows the rest."""


def main() -> None:
    """Start JupyterLab with the options of this process."""
    serverapp: Any = importlib.import_module("jupyter_server.serverapp")  # partly or not at all typed
    labapp: Any = importlib.import_module("jupyterlab.labapp")
    # Jupyter Server has its own message catalogue, which only a package named `notebook` could fill.
    serverapp._i18n = in_korean(serverapp._i18n)
    for name in ("ServerApp", "tornado.general"):
        logging.getLogger(name).addFilter(is_worth_telling)
    sys.argv[1:1] = _encrypted()
    labapp.main()


def in_korean(translate: Callable[[str], str]) -> Callable[[str], str]:
    """Return a translation function that knows our texts and leaves others to `translate`."""
    return lambda text: TERMINAL.get(text) or translate(text)


def is_worth_telling(record: logging.LogRecord) -> bool:
    """Return True if a log line is worth showing to a learner."""
    message = record.getMessage()
    return not any(text in message for text in _NOTHING_TO_DO)


def _encrypted() -> list[str]:
    """Return the option that encrypts traffic between kernel and server, if both support it.

    Without encryption a kernel warns at each start.
    """
    import zmq
    from jupyter_client.manager import KernelManager

    known = KernelManager.class_traits().keys()
    can = "transport_encryption" in known and zmq.has("curve")
    return ["--KernelManager.transport_encryption=auto"] if can else []


if __name__ == "__main__":
    try:
        main()
    except KeyboardInterrupt:  # during the first seconds of imports, before Jupyter handles Ctrl-C
        raise SystemExit(130) from None
