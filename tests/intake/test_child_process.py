"""Whatever happens in the child that reads an upload, this process goes on and knows why."""

import os
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from grader.base.errors import CommandError
from grader.intake import child_process
from grader.intake.child_process import CallFailed, CannotRead, LimitedChild, TimeLimits
from tests.intake import apart_calls
from tests.places import ROOT

pytestmark = pytest.mark.skipif(os.name != "posix", reason="limits of processes")


@pytest.fixture(autouse=True)
def _tests_are_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """The child knows the grader's own folder and Python's, nothing else."""
    start = child_process._START.replace("import sys;", f"import sys; sys.path.insert(0, {str(ROOT)!r});")
    monkeypatch.setattr(child_process, "_START", start)


@pytest.mark.parametrize(
    ("function", "said"),
    [
        (apart_calls.dies, "프로그램이 갑자기 끝났어요"),
        (apart_calls.takes_memory, "메모리가 너무 많이"),
        (apart_calls.computes_on, "너무 오래 걸려서"),
        (apart_calls.sleeps, "너무 오래 걸려서"),
        (apart_calls.recurses, "RecursionError"),
        (apart_calls.returns_what_does_not_travel, "오류가 났어요"),
    ],
)
def test_what_comes_to_no_end_is_said_and_the_next_call_is_served(
    function: Callable[[], object], said: str
) -> None:
    begun = time.monotonic()
    bounds = TimeLimits(1, 3.0) if function is not apart_calls.computes_on else TimeLimits(1, 60.0)
    with LimitedChild(bounds) as child:
        with pytest.raises(CallFailed, match=rf"{said}.*다시 내 주세요\.$"):
            child.call(function)
        assert child.call(apart_calls.pid) != os.getpid()
    assert time.monotonic() - begun < 30


def test_one_child_serves_all_and_holds_little() -> None:
    with LimitedChild() as child:
        first = child.call(apart_calls.pid)
        assert {child.call(apart_calls.pid) for _ in range(20)} == {first}
        loaded = child.call(apart_calls.modules)
    assert not {"torch", "numpy", "typer", "msgspec"} & set(loaded)
    with pytest.raises(ProcessLookupError):
        os.kill(first, 0)


@pytest.mark.parametrize("function", [apart_calls.dies_once, apart_calls.takes_memory])
def test_nobody_is_blamed_for_what_those_before_left(
    function: Callable[[Path], object], tmp_path: Path
) -> None:
    """The call is begun once more in a child of its own."""
    with LimitedChild() as child:
        child.call(apart_calls.pid)
        assert child.call(function, tmp_path / "mark") in ("read", 0)


def test_time_is_counted_for_each_call_alone() -> None:
    with LimitedChild(TimeLimits(1, 60.0)) as child:
        first = child.call(apart_calls.pid)
        for _ in range(4):
            assert child.call(sum, range(20_000_000))
        assert child.call(apart_calls.pid) == first


def test_what_is_the_machines_or_can_be_mended_is_raised() -> None:
    with LimitedChild() as child:
        with pytest.raises(OSError, match="No space left") as error:
            child.call(apart_calls.fills_the_disk)
        assert error.value.filename == "there"
        with pytest.raises(CommandError, match="고칠 수"):
            child.call(apart_calls.complains)


def test_without_limits_the_function_runs_here(monkeypatch: pytest.MonkeyPatch) -> None:
    """On Windows; what it raises is told in the same way."""
    monkeypatch.setattr(child_process, "CAN_LIMIT", False)
    with LimitedChild() as child:
        assert child.call(apart_calls.pid) == os.getpid()
        with pytest.raises(CallFailed, match="RecursionError"):
            child.call(apart_calls.recurses)
        with pytest.raises(CommandError, match="고칠 수"):
            child.call(apart_calls.complains)


def test_a_child_that_does_not_start_ends_the_run_with_a_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    """Else a whole class would be unreadable, in silence."""
    monkeypatch.setattr(child_process, "_START", "raise SystemExit(7)")
    with LimitedChild() as child, pytest.raises(CannotRead, match="종료 코드 7"):
        child.call(apart_calls.pid)
