"""A child that may talk to a GPU has no PID namespace of its own; it reaches nobody's process all the same."""

from collections.abc import Iterator

import pytest

from grader.sandbox import server_process
from grader.sandbox.sandbox import Outcome, Sandbox
from grader.sandbox.server_process import SandboxUnavailable
from tests.sandbox.neighbour import LIMITS, NEIGHBOUR, RIGHT, compared, run

pytestmark = [pytest.mark.cuda, pytest.mark.sandbox]

REACHES_OUT = """
import fcntl
import os
import resource
import socket
import struct

def own_socket(request):
    one, _ = socket.socketpair()
    return lambda pid: fcntl.ioctl(one, request, struct.pack("i", pid))

def first(model, opt, xb):
    others = [pid for pid in range(-2, 100) if pid not in (0, os.getpid())]
    acts = (
        lambda pid: os.kill(pid, 9),
        lambda pid: resource.prlimit(pid, resource.RLIMIT_CPU, (1, 1)),
        lambda pid: os.sched_setaffinity(pid, {0}),
        own_socket(0x8901),
        own_socket(0x8902),
    )
    done = []
    for number, act in enumerate(acts):
        for pid in others:
            try:
                act(pid)
            except PermissionError:
                continue
            except OSError:
                pass
            done.append((number, pid))
    os.kill(os.getpid(), 0)
    raise LookupError(f"done: {done}")
"""
ENDS_ITSELF = """
import os

def first(model, opt, xb):
    os.kill(os.getpid(), 15)
"""


def test_where_cuda_does_not_start_the_way_without_it_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    code = "import torch; torch.zeros = lambda *size, **how: 1 / 0; "
    monkeypatch.setattr(server_process, "_SERVE_CODE", code + server_process._SERVE_CODE)
    with (
        Sandbox("bwrap", device="cuda", limits=LIMITS, lessons=["probe"]) as sandbox,
        pytest.raises(SandboxUnavailable) as raised,
    ):
        run(sandbox, NEIGHBOUR)
    *_, cause, way = str(raised.value).splitlines()
    assert cause == "ZeroDivisionError: division by zero"
    assert way.endswith("--device cpu")


@pytest.fixture
def on_a_gpu(gpu_in_servers: None) -> Iterator[Sandbox]:
    with Sandbox("bwrap", device="cuda", limits=LIMITS, lessons=["probe"]) as sandbox:
        yield sandbox


def marks(outcomes: list[Outcome]) -> list[object]:
    """What their marks depend on."""
    return [compared(outcome.trace) for outcome in outcomes]


def test_it_reaches_no_other_process(on_a_gpu: Sandbox) -> None:
    honest = marks(run(on_a_gpu, NEIGHBOUR))
    first, second = run(on_a_gpu, REACHES_OUT + RIGHT.format(name="second"))
    assert first.trace is not None
    failure = next(iter(first.trace.runs.values())).failure
    assert failure is not None
    assert (failure.type, failure.message) == ("LookupError", "done: []")
    assert marks([second]) == honest[1:]
    assert marks(run(on_a_gpu, NEIGHBOUR)) == honest


def test_it_may_end_itself(on_a_gpu: Sandbox) -> None:
    first, second = run(on_a_gpu, ENDS_ITSELF + RIGHT.format(name="second"))
    assert first.status == "crashed"
    assert second.status == "ran"
