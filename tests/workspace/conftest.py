"""JupyterLab as `grader start` opens it, once for all browser tests of this folder."""

import shutil
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.browser import running_browser, running_lab

WAIT = 90_000
"""Milliseconds: a kernel that starts beside three other processes."""


@dataclass(frozen=True)
class Started:
    """A learner's JupyterLab."""

    address: str
    """Without a path it opens where `grader start` wants it to."""
    folder: Path
    """The lessons."""
    progress: Path
    """HANSTEP_HOME."""
    tabs: Path
    """Where JupyterLab keeps which notebooks are open."""


@pytest.fixture(scope="session")
def lab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Started]:
    home = tmp_path_factory.mktemp("home")
    folder, progress = home / "hanstep", home / "progress"
    own = {"HOME": home, "HANSTEP_HOME": progress, "JUPYTER_CONFIG_DIR": home / "jupyter"}
    command = [sys.executable, "-m", "grader", "start", str(folder), "--no-browser"]
    with running_lab(command, own, home / "log") as address:
        yield Started(address, folder, progress, home / "jupyter" / "lab" / "workspaces")


@pytest.fixture(scope="module")
def page(lab: Started) -> Iterator[Any]:
    """A new window; no notebook is open in it, whatever was open in the last one."""
    shutil.rmtree(lab.tabs, ignore_errors=True)
    with running_browser() as browser:
        page = browser.new_page(viewport={"width": 1280, "height": 900})
        page.set_default_timeout(WAIT)
        yield page
