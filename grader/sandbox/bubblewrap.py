"""Build the sandbox's bubblewrap command line, and find out whether bubblewrap works on this machine.

Bubblewrap (`bwrap`) starts a program in new namespaces with a file system made of binds: files and folders of this
machine that it shows inside. We bind what the operating system, Python and installed packages need, the few parts of
the grader that know no answers, and for CUDA the device files. Where a bound folder contains a folder with answers
(this checkout, or an installed copy of the course), a mask covers the latter: an empty folder.

`server_process.py` starts the server by `bwrap_command`; `sandbox.py` and `cli/doctor.py` ask `probe` first. What the
server sees and a child must not see, such as the server's /tmp, is hidden by `inside/isolation.py`. To show submissions
one more file or folder, add it in `_bound_paths`, or in `_system_arguments` if it belongs to the operating system.
"""

import functools
import os
import shutil
import site
import subprocess
import sys
import sysconfig
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from grader.paths import asset_path, course_root
from grader.sandbox.packages import undeclared_entries
from grader.sandbox.server_command import (
    GRADER_PACKAGE,
    IMPORT_ROOT_INSIDE,
    import_path,
    interpreter_path,
    package_folders,
    python_command,
    server_environment,
)

_PARTS_INSIDE = (
    *("__init__.py", "base/__init__.py", "base/package.py"),
    *("observe", "sandbox/__init__.py", "sandbox/inside"),
)
"""Parts of the grader that are bound into the sandbox, as paths in its package; none of them knows answers."""
_CAPABILITIES = ("--cap-drop", "ALL", "--cap-add", "CAP_SYS_ADMIN")
"""Capabilities of the server: it needs CAP_SYS_ADMIN to create its children's namespaces. The capability is valid in
bubblewrap's user namespace only."""

ProbeReason = Literal["ok", "not-linux", "no-bwrap", "apparmor", "userns-off", "container", "refused"]
"""Why submissions can or cannot be isolated; `explain_probe` says each in Korean."""


@dataclass(frozen=True)
class Probe:
    """The result of `probe`."""

    available: bool
    """True if submissions can be isolated on this machine."""
    reason: ProbeReason
    """Why not; `ok` if they can."""
    remedy: str = ""
    """Shell command that may fix the problem; empty if none is known."""
    detail: str = ""
    """Last line of the failed command's errors, or its exit status if there is none, or the error of running it; empty
    if no command failed."""


@functools.cache
def probe() -> Probe:
    """Find out whether submissions can be isolated here, by isolating a process as the sandbox does, without torch.

    The first call takes a tenth of a second; later calls return its result.
    """
    if sys.platform != "linux":
        return Probe(False, "not-linux")
    if shutil.which("bwrap") is None:
        return Probe(False, "no-bwrap", _install_command())
    code = "from grader.sandbox.inside import isolation; isolation.self_test()"
    only_grader = import_path(isolate=True)[:1]  # the self-test needs no installed packages
    try:
        test = subprocess.run(
            [*bwrap_command(), *python_command(only_grader, code)],
            env=server_environment("cpu"),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=30,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        return Probe(False, "refused", detail=str(error))
    if test.returncode == 0:
        return Probe(True, "ok")
    detail = (test.stderr.strip().splitlines() or [f"exit status {test.returncode}"])[-1]
    return _guessed_obstacle(detail)


def explain_probe(result: Probe) -> str:
    """Return lines in Korean: that the sandbox works, or why it does not, and a command that may fix it."""
    why = {
        "ok": "샌드박스를 쓸 수 있어요.",
        "not-linux": "샌드박스는 리눅스에서만 돌아요.",
        "no-bwrap": "제출물을 격리하려면 bubblewrap이 필요한데, 설치되어 있지 않아요.",
        "apparmor": "AppArmor가 bubblewrap의 사용자 네임스페이스를 막고 있어요.",
        "userns-off": "이 컴퓨터에서는 사용자 네임스페이스가 꺼져 있어요.",
        "container": "이 컨테이너 안에서는 bubblewrap이 격리를 만들 수 없어요.",
        "refused": "bubblewrap이 격리를 만들지 못했어요.",
    }[result.reason]
    lines = [why]
    if result.detail:
        lines.append(f"  ({result.detail})")
    if result.remedy:
        lines.append(f"이렇게 고칠 수 있어요: {result.remedy}")
    if not result.available:
        lines.append("믿을 수 있는 코드만 있다면 격리 없이 돌릴 수도 있어요: --sandbox none")
    return "\n".join(lines)


def bwrap_command(device: str = "cpu", added_packages: Sequence[str] = ()) -> list[str]:
    """Return the arguments `bwrap … --`, to be followed by the command that runs inside.

    Args:
        device: `cpu`, or `cuda`, which binds the device files of GPUs too.
        added_packages: installed packages, as pip calls them, that submissions may import beside those of the course.
    """
    # --unshare-all alone would go on without a user namespace if there can be none; --unshare-user fails then.
    arguments = [shutil.which("bwrap") or "bwrap", "--unshare-user", "--unshare-all", *_CAPABILITIES]
    arguments += ["--uid", "1000", "--gid", "1000", "--hostname", "hanstep"]
    arguments += [*_system_arguments(), "--proc", "/proc", "--dev", "/dev", "--tmpfs", "/tmp"]
    arguments += _binds_and_masks(_bound_paths())
    arguments += _package_masks(added_packages)
    for part in _PARTS_INSIDE:
        arguments += ["--ro-bind", str(GRADER_PACKAGE / part), str(IMPORT_ROOT_INSIDE / "grader" / part)]
    arguments += ["--ro-bind", str(asset_path("absent_package")), str(IMPORT_ROOT_INSIDE / "absent_package")]
    if device != "cpu":
        for node in (*sorted(Path("/dev").glob("nvidia*")), *Path("/dev").glob("dxg")):  # dxg: under WSL
            arguments += ["--dev-bind", str(node), str(node)]
    # Only /tmp is writable. --die-with-parent is left out because it would tie bubblewrap to the thread that started
    # it, which may end before the process does. The server ends by itself when its control socket is closed.
    return [*arguments, "--remount-ro", "/dev", "--remount-ro", "/", "--chdir", "/tmp", "--"]


def bound_folders_in_tmp() -> tuple[str, ...]:
    """Return the bound folders that lie in /tmp, which a child's own /tmp would hide.

    There is one if the course is installed in a virtual environment in /tmp, as in CI.
    """
    folders = {path for path in _bound_paths() if path.is_dir()}
    return tuple(str(path) for path in sorted(folders) if path.is_relative_to("/tmp"))


# ---- binds and masks -----------------------------------------------------------------------------


def _system_arguments() -> list[str]:
    """Return the arguments that bind the operating system's programs and libraries, read-only."""
    arguments = ["--ro-bind", "/usr", "/usr"]
    for name in ("/bin", "/sbin", "/lib", "/lib32", "/lib64"):
        path = Path(name)
        if path.is_symlink():
            arguments += ["--symlink", str(path.readlink()), name]
        elif path.is_dir():
            arguments += ["--ro-bind", name, name]
    # Library cache; Debian's choice of BLAS; the file in which malloc looks up huge pages.
    for name in ("/etc/ld.so.cache", "/etc/alternatives", "/sys/kernel/mm/transparent_hugepage"):
        arguments += ["--ro-bind-try", name, name]
    return arguments


def _bound_paths() -> list[Path]:
    """Return the paths that are bound beside those of the operating system and our own code.

    Folders with answers inside them are masked, and packages that submissions may not import.
    """
    return [*_interpreter_paths(), *package_folders()]


def _interpreter_paths() -> list[Path]:
    """Return the paths that Python itself needs: its program file, its standard library and its shared libraries."""
    library = Path(sysconfig.get_path("stdlib")).resolve().parent
    # The interpreter's shared libraries are in lib, even where its modules are in lib64.
    candidates = [Path(interpreter_path()), library, Path(sys.base_prefix).resolve() / "lib"]
    return sorted({path for path in candidates if path.exists()})


def _package_masks(added_packages: Sequence[str]) -> list[str]:
    """Return the arguments that cover every package which submissions may not import with a stand-in.

    The stand-in (`assets/absent_package`) raises the ModuleNotFoundError that an import of a missing package raises.
    In the server, `inside/absent_packages.py` keeps it from being found at all.

    Args:
        added_packages: installed packages that submissions may import beside those of the course.
    """
    absent = asset_path("absent_package")
    arguments: list[str] = []
    for folder in package_folders():
        for path in undeclared_entries(folder, added_packages):
            stand_in = absent if path.is_dir() else absent / "__init__.py"
            arguments += ["--ro-bind", str(stand_in), str(path)]
    return arguments


def _folders_with_answers() -> set[Path]:
    """Return the existing folders that hold answers or parts of the grader that know answers."""
    data = sysconfig.get_path("data")  # Debian's own Python installs to /usr/local, not to its prefix
    prefixes = [Path(prefix) for prefix in (sys.prefix, sys.base_prefix, data, site.getuserbase()) if prefix]
    folders = [course_root(), GRADER_PACKAGE, *(prefix / "share" / "hanstep" for prefix in prefixes)]
    folders += [folder / "grader" for folder in package_folders()]
    return {folder.resolve() for folder in folders if folder.is_dir()}


def _binds_and_masks(bound: list[Path]) -> list[str]:
    """Return arguments that bind the paths `bound`, and mask every folder with answers inside a bound path.

    Paths closer to the root come first, because a bind or mask hides what an earlier one shows below its path. So a
    virtual environment inside the checkout is visible, although the checkout is masked.
    """
    visible = [Path("/usr"), *bound]  # /usr is bound by `_system_arguments`
    masked = {
        folder for folder in _folders_with_answers() if any(folder.is_relative_to(path) for path in visible)
    }
    arguments: list[str] = []
    for path in sorted({*bound, *masked}, key=lambda path: (len(path.parts), path)):
        if path in masked:
            arguments += ["--tmpfs", str(path), "--remount-ro", str(path)]  # an empty folder, read-only
        else:
            arguments += ["--ro-bind", str(path), str(path)]
    return arguments


# ---- why bubblewrap does not work ------------------------------------------------------------------


def _install_command() -> str:
    """Return the command that installs bubblewrap here; empty if this machine's package manager is unknown."""
    for manager, command in (
        ("apt-get", "apt-get install -y bubblewrap"),
        ("dnf", "dnf install -y bubblewrap"),
        ("pacman", "pacman -S --noconfirm bubblewrap"),
        ("apk", "apk add bubblewrap"),
    ):
        if shutil.which(manager):
            return _as_root(command)
    return ""


def _guessed_obstacle(detail: str) -> Probe:
    """Guess from this machine's settings why bubblewrap failed, and return that as the result of `probe`.

    Args:
        detail: see `Probe.detail`.
    """
    if _kernel_setting("kernel/apparmor_restrict_unprivileged_userns") == "1":
        # Ubuntu since 24.04. A profile of this name also replaces the stricter one of newer releases, which lets
        # bubblewrap itself create namespaces, but not its children.
        profile = "abi <abi/4.0>,\\nprofile bwrap /usr/bin/bwrap flags=(unconfined) { userns, }\\n"
        file = "/etc/apparmor.d/bwrap"
        tee, load = _as_root(f"tee {file}"), _as_root(f"apparmor_parser -r {file}")
        return Probe(False, "apparmor", f"printf '{profile}' | {tee} && {load}", detail)
    for name, value in (("kernel/unprivileged_userns_clone", "1"), ("user/max_user_namespaces", "15000")):
        if _kernel_setting(name) == "0":
            remedy = _as_root(f"sysctl -w {name.replace('/', '.')}={value}")
            return Probe(False, "userns-off", remedy, detail)
    if Path("/.dockerenv").exists() or Path("/run/.containerenv").exists():
        return Probe(False, "container", "docker run --privileged …", detail)
    return Probe(False, "refused", detail=detail)


def _as_root(command: str) -> str:
    """Return the command with `sudo` before it, unless this process is root already."""
    return command if os.geteuid() == 0 else f"sudo {command}"


def _kernel_setting(name: str) -> str | None:
    """Return the value of a file below /proc/sys; None if this kernel has no such setting."""
    try:
        return Path("/proc/sys", name).read_text().strip()
    except OSError:
        return None
