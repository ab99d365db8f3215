"""`--sandbox none`: the same server; loops, crashes and limits still cost only the submission itself."""

import sys

import pytest

from grader.sandbox.sandbox import Sandbox
from tests.sandbox.attacks import ATTACKS_EXPECTED, attack
from tests.sandbox.neighbour import NEIGHBOUR, ONE_PROCESS, content, run

pytestmark = ONE_PROCESS


@pytest.mark.parametrize(
    "name",
    [
        "endless_loop_catching",
        "endless_import",
        "endless_output",
        "exits",
        "segfaults",
        "closes_files",
        "own_base_exception",
        "forges_frames",
        "patches_serialization",
        pytest.param(
            "takes_memory_bytes",
            marks=pytest.mark.skipif(sys.platform != "linux", reason="macOS enforces no memory limit"),
        ),
    ],
)
def test_costs_nobody_else(unisolated: Sandbox, undisturbed: list[object], name: str) -> None:
    first, _ = run(unisolated, attack(name))
    assert first.status in ATTACKS_EXPECTED[name].status.split("|"), first
    assert [content(outcome.trace) for outcome in run(unisolated, NEIGHBOUR)] == undisturbed
