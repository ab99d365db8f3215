"""Hostile submissions get nothing for it, and the next submission's trace is what it would have been."""

import re
import socket
from pathlib import Path

import pytest

from grader.sandbox import bubblewrap
from grader.sandbox.sandbox import Sandbox
from grader.sandbox.server_command import package_folders
from tests.sandbox.attacks import ATTACKS, ATTACKS_EXPECTED, attack, said
from tests.sandbox.neighbour import LIMITS, NEIGHBOUR, ONE_PROCESS, compared, content, run

pytestmark = [pytest.mark.sandbox, ONE_PROCESS]


def test_every_attack_has_an_expectation() -> None:
    assert {path.stem for path in ATTACKS.glob("*.py")} == set(ATTACKS_EXPECTED)


@pytest.mark.parametrize("name", list(ATTACKS_EXPECTED))
def test_gets_nothing_and_costs_nobody_else(
    request: pytest.FixtureRequest,
    undisturbed: list[object],
    undisturbed_second: object,
    right_first: object,
    tmp_path: Path,
    name: str,
) -> None:
    expected = ATTACKS_EXPECTED[name]
    sandbox: Sandbox = request.getfixturevalue("patient" if expected.patient else "sandbox")
    canary = tmp_path / "canary"
    canary.write_text("the instructor's")
    with socket.create_server(("127.0.0.1", 0)) as listener:
        listener.settimeout(0.01)
        port = str(listener.getsockname()[1])
        first, second = run(sandbox, attack(name, PORT=port, CANARY=str(canary)))
        with pytest.raises(TimeoutError):
            listener.accept()

    assert first.status in expected.status.split("|"), first
    assert re.search(expected.says, said(first)), first
    assert expected.patient or first.seconds < LIMITS.seconds + 1
    if first.trace is not None:
        assert compared(first.trace) != right_first
    if expected.other == "right":
        assert second.status == "ran"
        assert content(second.trace, lines=False) == undisturbed_second
    assert canary.read_text() == "the instructor's"
    assert [content(outcome.trace) for outcome in run(sandbox, NEIGHBOUR)] == undisturbed


def test_thousands_of_failing_imports_cost_nothing(patient: Sandbox, undisturbed_second: object) -> None:
    """Each is a warning; a trace that carried them all would be refused. They take a busy machine over a second."""
    imports = "".join(f"import missing_{number}\n" for number in range(3000))
    outcomes = run(patient, imports + NEIGHBOUR)
    trace = outcomes[1].trace
    assert content(trace, lines=False) == undisturbed_second
    assert trace is not None
    assert 0 < len(trace.warnings) <= 20


def test_home_shows_only_the_way_to_python(sandbox: Sandbox) -> None:
    first, _ = run(sandbox, attack("lists_home"))
    seen = set(said(first).removeprefix("LookupError: ").split())
    bound = [*bubblewrap._interpreter_paths(), *package_folders()]
    way = {str(parent) for path in bound for parent in (path, *path.parents)}
    assert seen <= way | {"/etc/alternatives", "/etc/ld.so.cache", "/sys/kernel"}


def test_memory_holds_no_earlier_submission(sandbox: Sandbox) -> None:
    """A marker that only the submission before contained is nowhere in the memory of the next."""
    marked = "text = 'only one wrote this'\n" * 2000
    assert run(sandbox, marked + NEIGHBOUR)[0].status == "ran"
    first, _ = run(sandbox, attack("reads_memory"))
    assert said(first) == "LookupError: found: 0 in much"
    # The search does find what is there: the same text in its own file.
    first, _ = run(sandbox, marked + attack("reads_memory"))
    assert re.match("LookupError: found: [1-9]", said(first))
