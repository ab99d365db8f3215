"""The kernel's own limits on a sandbox: made where they can be had, never in the way where they cannot."""

import errno
import os
import subprocess
import sys
from contextlib import ExitStack
from pathlib import Path

import pytest

from grader.cli import doctor
from grader.sandbox import cgroups
from grader.sandbox.cgroups import (
    Preparation,
    SandboxCgroup,
    enter_prepared_parent,
    find_prepared_parent,
    own_cgroup,
)
from grader.sandbox.sandbox import Sandbox
from tests.places import ROOT
from tests.sandbox.neighbour import LIMITS, NEIGHBOUR, ONE_PROCESS, run

pytestmark = ONE_PROCESS


@pytest.fixture
def lent(tmp_path: Path) -> Path:
    """A folder that looks like a cgroup that is ours to prepare."""
    own = tmp_path / "fs" / "user.slice" / "run-1.scope"
    own.mkdir(parents=True)
    (own / "cgroup.procs").write_text(f"{os.getpid()}\n")
    (own / "cgroup.controllers").write_text("cpuset cpu io memory pids\n")
    (own / "cgroup.subtree_control").write_text("")
    return own


def test_the_own_cgroup_is_found_where_the_kernel_says(tmp_path: Path) -> None:
    """Beside the hierarchies of version 1, which hybrid systems still have."""
    mounts, groups = tmp_path / "mountinfo", tmp_path / "cgroup"
    mounts.write_text(
        "30 24 0:26 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n"
        "41 31 0:38 / /sys/fs/cgroup/unified rw,relatime shared:9 - cgroup2 cgroup2 rw,nsdelegate\n"
    )
    groups.write_text("4:memory:/jobs\n0::/user.slice/run-1.scope\n")
    assert own_cgroup(mounts, groups) == Path("/sys/fs/cgroup/unified/user.slice/run-1.scope")
    groups.write_text("4:memory:/jobs\n")
    assert own_cgroup(mounts, groups) is None
    assert own_cgroup(tmp_path / "none", groups) is None


def test_what_is_lent_is_divided(lent: Path) -> None:
    """We move into a part of it first: who has processes cannot prepare."""
    assert enter_prepared_parent(lent) == Preparation.succeeded(lent)
    main = lent / "hanstep-main"
    assert (main / "cgroup.procs").read_text() == "0"
    assert (lent / "cgroup.subtree_control").read_text() == "+memory +pids +cpu"
    assert enter_prepared_parent(main) == Preparation.succeeded(lent)
    assert find_prepared_parent(main) == lent
    assert find_prepared_parent(lent) is None
    assert find_prepared_parent(None) is None


@pytest.mark.parametrize(
    ("spoil", "missing"),
    [
        (lambda own: (own / "cgroup.controllers").write_text("hugetlb\n"), "controllers"),
        (lambda own: (own / "cgroup.procs").unlink(), "cgroup"),
        (
            lambda own: ((own / "cgroup.subtree_control").unlink(), (own / "cgroup.subtree_control").mkdir()),
            "delegation",
        ),
        (lambda own: (own / "hanstep-main").write_text(""), "delegation"),
    ],
)
def test_what_cannot_be_had_is_said_and_left_as_it_was(lent: Path, spoil, missing: str) -> None:
    spoil(lent)
    found = enter_prepared_parent(lent)
    assert (found.missing, found.parent) == (missing, None)
    assert bool(found.detail) is (missing != "cgroup")


def test_a_sandbox_gets_its_limits_and_what_was_killed_is_removed(lent: Path) -> None:
    group = SandboxCgroup(lent, memory_bytes=5 * 2**30, max_tasks=144)
    limits = {name: (group.path / name).read_text() for name in ("memory.max", "pids.max", "cpu.max")}
    assert limits == {"memory.max": str(5 * 2**30), "pids.max": "144", "cpu.max": "100000 100000"}
    assert (group.path / "memory.swap.max").read_text() == "0"
    said = subprocess.run(group.wrap(["/bin/echo", "a b"]), capture_output=True, text=True, check=True)
    assert said.stdout == "a b\n"
    assert (group.path / "cgroup.procs").read_text() == "0\n"
    left, used = lent / "hanstep-999999999-0123abcd", lent / f"hanstep-{os.getpid()}-0123abcd"
    for other in (left, used, lent / "hanstep-notours"):
        other.mkdir()
    enter_prepared_parent(lent)
    assert (left / "cgroup.kill").read_text() == "1"  # a real one could be removed then
    assert not (used / "cgroup.kill").exists()


@pytest.mark.parametrize(
    ("found", "says", "remedy"),
    [
        (Preparation.succeeded(Path("/x")), "cgroup v2로 제출물마다", ""),
        (Preparation.failed("cgroup"), "cgroup v2가 없어요", ""),
        (Preparation.failed("controllers", "memory"), "제어기: memory", ""),
        (
            Preparation.failed("delegation", "Permission denied"),
            "Permission denied",
            "systemd-run --user --scope",
        ),
    ],
)
def test_doctor_says_which_it_is(
    monkeypatch: pytest.MonkeyPatch, found: Preparation, says: str, remedy: str
) -> None:
    """It is no failure: grading goes on with the limits of each process."""
    monkeypatch.setattr(cgroups, "enter_prepared_parent", lambda own: found)
    finding = doctor._cgroups()
    assert finding.ok
    assert says in finding.detail
    assert remedy in finding.remedy
    assert bool(finding.remedy) is bool(remedy)


def test_a_refused_limit_leaves_nothing_and_is_logged(
    lent: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """As without the memory controller, whose files are missing then."""
    monkeypatch.setattr(cgroups, "find_prepared_parent", lambda own: lent)
    monkeypatch.setattr(Path, "write_text", refuse)
    before = sorted(lent.iterdir())
    with ExitStack() as resources:
        assert cgroups.wrap_in_cgroup(["bwrap"], 2**30, resources) == ["bwrap"]
    assert sorted(lent.iterdir()) == before
    assert "no cgroup for a sandbox" in caplog.text


def refuse(self: Path, text: str) -> int:
    raise PermissionError(errno.EACCES, "Permission denied", str(self))


@pytest.mark.sandbox
def test_a_sandbox_starts_where_the_kernel_refuses_a_group(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cgroups, "find_prepared_parent", lambda own: tmp_path / "not there")
    with Sandbox("bwrap", limits=LIMITS, lessons=["probe"]) as sandbox:
        assert [outcome.status for outcome in run(sandbox, NEIGHBOUR)] == ["ran", "ran"]


REAL = """
import sys
from grader.sandbox import cgroups
from tests.sandbox.neighbour import *
found = cgroups.enter_prepared_parent(cgroups.own_cgroup())
if found.missing:
    sys.exit(f"missing: {found}")
with Sandbox("bwrap", limits=LIMITS, lessons=["probe"]) as sandbox:
    print(*[outcome.status for outcome in run(sandbox, NEIGHBOUR)])
    (group,) = found.parent.glob("hanstep-*-*")
    print((group / "pids.current").read_text().strip(), (group / "memory.max").read_text().strip())
print(*found.parent.glob("hanstep-*-*"), "none left")
"""


@pytest.mark.sandbox
def test_a_real_sandbox_is_in_a_real_group() -> None:
    """In a process of its own, which moves. Needs the controllers, and a cgroup that is lent."""
    said = subprocess.run([sys.executable, "-c", REAL], cwd=ROOT, capture_output=True, text=True, check=False)
    if "missing: " in said.stderr:
        pytest.skip(f"cgroup v2 cannot be had here: {said.stderr.strip()}")
    statuses, held, left = said.stdout.splitlines()
    assert statuses == "ran ran"
    assert int(held.split()[0]) >= 3
    assert left.strip() == "none left"


def test_what_stands_in_a_real_group_ends_with_it() -> None:
    """Wherever a group can be made, with controllers or without: entering, killing and removing are the kernel's."""
    own = own_cgroup()
    try:
        group = object.__new__(SandboxCgroup)
        assert own is not None
        group.path = own / f"hanstep-{os.getpid()}-0badcafe"
        group.path.mkdir()
    except (OSError, AssertionError) as error:
        pytest.skip(f"no cgroup can be made here: {error}")
    if not (group.path / "cgroup.kill").exists():
        group.close()
        pytest.skip("needs Linux 5.14")
    running = subprocess.Popen(group.wrap(["sh", "-c", "sleep 60 & echo in; wait"]), stdout=subprocess.PIPE)
    assert running.stdout is not None
    assert running.stdout.readline() == b"in\n"
    assert len((group.path / "cgroup.procs").read_text().split()) == 2
    group.close()
    assert running.wait(10) == -9
    assert not group.path.exists()
