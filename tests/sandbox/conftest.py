"""The sandboxes in which the tests of this folder run, each started once."""

from collections.abc import Iterator

import pytest

from grader.sandbox.client import Limits
from grader.sandbox.sandbox import Sandbox
from tests.sandbox.neighbour import LIMITS, NEIGHBOUR, compared, content, run


@pytest.fixture(scope="package")
def sandbox() -> Iterator[Sandbox]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("HANSTEP_TOKEN", "token-of-the-instructor")
        with Sandbox("bwrap", limits=LIMITS, lessons=["probe"]) as sandbox:
            yield sandbox


@pytest.fixture(scope="package")
def patient() -> Iterator[Sandbox]:
    with Sandbox("bwrap", limits=Limits(seconds=120), lessons=["probe"]) as sandbox:
        yield sandbox


@pytest.fixture(scope="package")
def unisolated() -> Iterator[Sandbox]:
    with Sandbox("none", limits=LIMITS, lessons=["probe"]) as sandbox:
        yield sandbox


@pytest.fixture(scope="package")
def undisturbed(unisolated: Sandbox) -> list[object]:
    """What the neighbour's traces are when nobody attacked before: from a server of its own."""
    return [content(outcome.trace) for outcome in run(unisolated, NEIGHBOUR)]


@pytest.fixture(scope="package")
def undisturbed_second(unisolated: Sandbox) -> object:
    """The honest `second`, wherever in its file it stands."""
    return content(run(unisolated, NEIGHBOUR)[1].trace, lines=False)


@pytest.fixture(scope="package")
def right_first(unisolated: Sandbox) -> object:
    """What marks depend on in the trace of the honest `first`."""
    return compared(run(unisolated, NEIGHBOUR)[0].trace)
