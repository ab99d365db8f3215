"""A check that waits for a check of the same function is not run a second time."""

import os
from collections.abc import Iterator
from typing import Any

import pytest
from jupyter_client.manager import start_new_kernel

from tests.places import ROOT

pytestmark = pytest.mark.timeout(300)
ENDLESS = "def train_step(model, opt, loss_fn, xb, yb):\n    while True: pass"
CHECK = "check(train_step, seconds=2)"
FIRST = """
import sys
from grader import check

module = sys.modules["grader.notebook.check"]
judge, judged = module._checked, []
module._checked = lambda *given: (judged.append(given), judge(*given))[1]
"""
JUDGED = "print(len(judged))"


@pytest.fixture
def kernel(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(filter(None, [str(ROOT), os.environ.get("PYTHONPATH")])))
    manager, client = start_new_kernel(kernel_name="python3")
    yield client
    client.stop_channels()
    manager.shutdown_kernel(now=True)


def outputs(kernel: Any, *cells: str) -> list[str]:
    """What cells show that are all asked for at once."""
    found = {kernel.execute(cell): "" for cell in cells}
    waiting = set(found)
    while waiting:
        message = kernel.get_iopub_msg(timeout=120)
        asked, content = message["parent_header"].get("msg_id"), message["content"]
        if asked not in found:
            continue
        found[asked] += content.get("data", {}).get("text/plain", "") + content.get("text", "")
        if content.get("execution_state") == "idle":
            waiting.discard(asked)
    return list(found.values())


def test_two_checks_of_one_function_wait_once(kernel: Any) -> None:
    """What was asked for after the answer, or in another way, or of a function that was made anew, is judged."""
    outputs(kernel, FIRST)
    _, first, second, times = outputs(kernel, ENDLESS, CHECK, CHECK, JUDGED)
    assert "끝나지 않아 멈췄어요" in first
    assert (second, int(times)) == (first, 1)
    assert "끝나지 않아 멈췄어요" in outputs(kernel, CHECK)[0]
    assert int(outputs(kernel, JUDGED)[0]) == 2
    *_, times = outputs(kernel, CHECK, CHECK.replace("2", "1"), ENDLESS, CHECK, JUDGED)
    assert int(times) == 5
