"""JupyterLab as `grader start` becomes it: the few lines that a learner reads in the terminal are in Korean.

Run as `python -m grader.workspace.jupyterlab` with JupyterLab's own options. What Jupyter says of real trouble stays as
it is.
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
"""Jupyter's line -> ours. `%.0r` takes what Jupyter puts in and shows nothing of it."""

_NOTHING_TO_DO = (
    "is not trusted",  # a lesson that was not saved yet
    "websocket_ping_timeout",  # Jupyter asks tornado for more than it takes, which is then what is used
    # A tab of yesterday's server asks today's for its kernel, and is not known here any more:
    "Kernel does not exist",
    "404 GET /api/kernels/",
    "expired login cookie",
    "403 GET /api/",
    "wrote error: 'Forbidden'",
)
"""Warnings at a start, of which a learner could only guess whether something is wrong; the browser tells the rest."""


def main() -> None:
    """Start JupyterLab with the options of this process."""
    serverapp: Any = importlib.import_module("jupyter_server.serverapp")  # Any: partly typed, or not at all
    labapp: Any = importlib.import_module("jupyterlab.labapp")
    # Jupyter Server has a catalogue of its own that only a package named `notebook` could fill.
    serverapp._i18n = in_korean(serverapp._i18n)
    for name in ("ServerApp", "tornado.general"):
        logging.getLogger(name).addFilter(is_worth_telling)
    sys.argv[1:1] = _encrypted()
    labapp.main()


def in_korean(translate: Callable[[str], str]) -> Callable[[str], str]:
    """A translation that knows our lines and leaves the others to Jupyter's."""
    return lambda text: TERMINAL.get(text) or translate(text)


def is_worth_telling(record: logging.LogRecord) -> bool:
    """Whether a line of the log is for a learner's eyes."""
    told = record.getMessage()
    return not any(text in told for text in _NOTHING_TO_DO)


def _encrypted() -> list[str]:
    """Encrypt what goes between kernel and server, where both can: a kernel without it warns at each start."""
    import zmq
    from jupyter_client.manager import KernelManager

    known = KernelManager.class_traits().keys()
    can = "transport_encryption" in known and zmq.has("curve")
    return ["--KernelManager.transport_encryption=auto"] if can else []


if __name__ == "__main__":
    try:
        main()
    except KeyboardInterrupt:  # before Jupyter listens for it: the first seconds are imports
        raise SystemExit(130) from None
