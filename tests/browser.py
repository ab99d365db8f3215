"""The browser of the tests (Debian's Chromium, or Google's, driven by Playwright) and the JupyterLab it looks at."""

import json
import os
import shutil
import socket
import subprocess
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

CHROMIUM = next(
    filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome", "chrome"))), None
)
"""Its path; None where there is none."""
_QUIET = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
)


@contextmanager
def running_browser() -> Iterator[Any]:
    """A browser for as long as the context lasts."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=list(_QUIET))
        yield browser
        browser.close()


# innerText is empty where the browser lays nothing out, and JupyterLab lets it skip the cells out of view.
_SHOWN_TEXTS = """elements => {
  const cells = new Set(elements.flatMap((e) => [e.closest('.jp-Cell'), ...e.querySelectorAll('.jp-Cell')]));
  cells.delete(null);
  const before = new Map([...cells].map((cell) => [cell, cell.style.contentVisibility]));
  for (const cell of cells) cell.style.contentVisibility = 'visible';
  const texts = elements.map((e) => e.innerText);
  for (const [cell, value] of before) cell.style.contentVisibility = value;
  return texts;
}"""


def texts_of(elements: Any) -> list[str]:
    """The texts of a locator's elements as a reader sees them, also of notebook cells out of view."""
    texts: list[str] = elements.evaluate_all(_SHOWN_TEXTS)
    return texts


def text_of(element: Any) -> str:
    """The text of a locator's only element, which is waited for, as a reader sees it, also out of view."""
    text: str = element.evaluate(f"e => ({_SHOWN_TEXTS})([e])[0]")
    return text


@contextmanager
def running_lab(command: Sequence[str], folders: Mapping[str, Path], log: Path) -> Iterator[str]:
    """The address of a JupyterLab that needs no token, and whose application scripts may reach.

    Args:
        command: that starts it, be it through `grader start`.
        folders: its own folders in place of the user's: environment variable -> folder; with JUPYTER_CONFIG_DIR.
        log: the file that gets its output.
    """
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    settings = {
        "ServerApp": {"port": port, "port_retries": 0, "open_browser": False},
        "IdentityProvider": {"token": ""},
        "LabApp": {"expose_app_in_browser": True},
    }
    config = folders["JUPYTER_CONFIG_DIR"] / "jupyter_server_config.json"
    config.parent.mkdir(parents=True, exist_ok=True)
    config.write_text(json.dumps(settings), encoding="utf-8")
    environment = {**os.environ, **{name: str(folder) for name, folder in folders.items()}}
    with log.open("w") as output:
        server = subprocess.Popen(command, env=environment, stdout=output, stderr=subprocess.STDOUT)
    try:
        _wait_for(port, server, log)
        yield f"http://127.0.0.1:{port}"
    finally:
        server.terminate()
        server.wait(timeout=30)


def _wait_for(port: int, server: "subprocess.Popen[bytes]", log: Path) -> None:
    for _ in range(120):
        if server.poll() is not None:
            break
        try:
            socket.create_connection(("127.0.0.1", port), timeout=1).close()
            return
        except OSError:
            time.sleep(0.5)
    pytest.fail(f"JupyterLab did not start:\n{log.read_text()[-2000:]}")
