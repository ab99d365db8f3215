"""Servers of the sandbox have the pretended GPU too."""

import pytest

from grader.sandbox import server_process
from tests import fake_device
from tests.gpu.processes import PRETENDED


@pytest.fixture
def gpu_in_servers(monkeypatch: pytest.MonkeyPatch) -> None:
    """Sandbox servers that are started from now on find the GPU; a real one is found anyway."""
    if PRETENDED:
        monkeypatch.setattr(
            server_process, "_SERVE_CODE", fake_device.code_that_installs() + server_process._SERVE_CODE
        )
