"""Python processes on a machine with a GPU: the real one, or the pretended one in each of them."""

import os
import subprocess
import sys

from tests import fake_device
from tests.places import ROOT

PRETENDED = os.environ.get("HANSTEP_FAKE_CUDA") == "1"


_IN_SERVERS = """
from grader.sandbox import server_process
from tests import fake_device
server_process._SERVE_CODE = fake_device.code_that_installs() + server_process._SERVE_CODE
"""


def said(code: str, *, gpu: bool = True) -> str:
    """What `code` prints in a process of its own, on a machine with a GPU or without.

    Raises:
        AssertionError: it fails.
    """
    environment = os.environ | {"PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1"}
    environment |= {} if gpu else {"CUDA_VISIBLE_DEVICES": ""}
    begun = f"{fake_device.code_that_installs()}\n{_IN_SERVERS}" if PRETENDED else ""
    done = subprocess.run(
        [sys.executable, "-c", f"{begun}\n{code}"],
        env=environment,
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout
