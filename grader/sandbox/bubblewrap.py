"""Build the sandbox's bubblewrap command line, and find out whether bubblewrap works on this machine.

Inside, the file system holds only the operating system's programs and libraries, Python, its installed packages, and
the few parts of the grader that know no answers. Folders with answers that this would bring in are masked.
"""

import functools
import importlib.util
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

PACKAGE = Path(__file__).resolve().parent.parent
_INSIDE = Path("/hanstep")
_PARTS_INSIDE = (
    *("__init__.py", "base/__init__.py", "base/package.py"),
    *("observe", "sandbox/__init__.py", "sandbox/inside"),
)
"""Parts of the grader that are bound into the sandbox; none of them knows answers."""
_IMPORTED = ("torch", "numpy", "safetensors", "msgspec")

_CAPABILITIES = ("--cap-drop", "ALL", "--cap-add", "CAP_SYS_ADMIN")
"""The server needs CAP_SYS_ADMIN to create its children's namespaces; it holds in bubblewrap's user namespace only."""

Reason = Literal["ok", "not-linux", "no-bwrap", "apparmor", "userns-off", "container", "refused"]


@dataclass(frozen=True)
class Probe:
    """The answer to whether submissions can be isolated on this machine."""

    available: bool
    reason: Reason
    remedy: str = ""
    """Shell command that fixes the problem; empty if none is known."""
    detail: str = ""
    """Last line printed by the part that failed."""


@functools.cache
def probe() -> Probe:
    """Try once everything the sandbox does except torch, which takes a tenth of a second; cached."""
    if sys.platform != "linux":
        return Probe(False, "not-linux")
    if shutil.which("bwrap") is None:
        return Probe(False, "no-bwrap", _install_command())
    code = "from grader.sandbox.inside import isolation; isolation.self_test()"
    try:
        test = subprocess.run(
            [*bwrap_command(), *python_command(search_path(isolate=True)[:1], code)],
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
    reason, remedy = _why_refused()
    return Probe(False, reason, remedy, detail)


def bwrap_command(device: str = "cpu", added: Sequence[str] = ()) -> list[str]:
    """Return the arguments `bwrap … --`, to be followed by the command that runs inside.

    Args:
        device: `cpu`, or a GPU, whose device files are then bound too.
        added: installed packages, as pip calls them, that submissions may import beside those of the course.
    """
    bound = [*_python_directories(), *_site_directories()]
    arguments = [shutil.which("bwrap") or "bwrap", "--unshare-user", "--unshare-all", *_CAPABILITIES]
    arguments += ["--uid", "1000", "--gid", "1000", "--hostname", "hanstep"]
    arguments += [*_system(), "--proc", "/proc", "--dev", "/dev", "--tmpfs", "/tmp"]
    arguments += _binds_and_masks(bound)
    absent = asset_path("absent_package")
    for path in (path for folder in _site_directories() for path in undeclared_entries(folder, added)):
        arguments += ["--ro-bind", str(absent if path.is_dir() else absent / "__init__.py"), str(path)]
    for part in _PARTS_INSIDE:
        arguments += ["--ro-bind", str(PACKAGE / part), str(_INSIDE / "grader" / part)]
    if device != "cpu":
        for node in (*sorted(Path("/dev").glob("nvidia*")), *Path("/dev").glob("dxg")):  # dxg: under WSL
            arguments += ["--dev-bind", str(node), str(node)]
    # Only /tmp is writable. --die-with-parent is left out because it would tie bubblewrap to the thread that started
    # it, which may end before the process does. The server ends by itself when its control socket is closed.
    return [*arguments, "--remount-ro", "/dev", "--remount-ro", "/", "--chdir", "/tmp", "--"]


def bound_folders_in_tmp() -> tuple[str, ...]:
    """Return the bound folders that lie in /tmp, which a child's own /tmp would hide.

    That is a virtual environment created in /tmp, to try things or in CI.
    """
    folders = {path for path in (*_python_directories(), *_site_directories()) if path.is_dir()}
    return tuple(str(path) for path in sorted(folders) if path.is_relative_to("/tmp"))


def python_command(search_path: list[str], code: str) -> list[str]:
    """Return the command for a Python that imports only from the standard library and `search_path`.

    Like `-I`, but PYTHONHASHSEED is respected: the order of a set of names must not change between two runs.
    """
    start = f"import sys; sys.path[:0] = {search_path!r}; {code}"
    return [_executable(), "-s", "-S", "-P", "-B", "-X", "utf8", "-c", start]


def search_path(*, isolate: bool) -> list[str]:
    """Return the import path of the server: the folder that holds `grader`, then the installed packages."""
    grader = _INSIDE if isolate else PACKAGE.parent
    return [str(grader), *(str(path) for path in _site_directories())]


def server_environment(device: str, home: str = "/tmp") -> dict[str, str]:
    """Return all environment variables of the server. The caller's are not passed on, because they may hold tokens.

    (Except CUDA_VISIBLE_DEVICES, for a GPU.)
    """
    variables = {
        "PATH": "/usr/bin:/bin",
        "HOME": home,
        "TMPDIR": home,
        "LANG": "C.UTF-8",
        "PYTHONHASHSEED": "0",
        "MPLBACKEND": "Agg",
        # One thread per library: a forked child would wait for ever for worker threads that only its parent has.
        "OMP_NUM_THREADS": "1",
        "OPENBLAS_NUM_THREADS": "1",
        "MKL_NUM_THREADS": "1",
        "JOBLIB_MULTIPROCESSING": "0",  # joblib would try it in /dev/shm, which is missing
        # Put everything on huge pages where the kernel has them; Python's own allocator does not ask for them. Forking
        # the warmed server copies its page table, which takes 14 ms with small pages and 3 ms with huge ones.
        "PYTHONMALLOC": "malloc",
        "GLIBC_TUNABLES": "glibc.malloc.hugetlb=1",
    }
    if device == "cpu":
        variables["CUDA_VISIBLE_DEVICES"] = ""
    else:
        # torch.cuda.is_available() must not initialize CUDA in the server: its forks could not use CUDA then.
        variables["PYTORCH_NVML_BASED_CUDA_CHECK"] = "1"
        if "CUDA_VISIBLE_DEVICES" in os.environ:
            variables["CUDA_VISIBLE_DEVICES"] = os.environ["CUDA_VISIBLE_DEVICES"]
    return variables


# ---- what is bound into the sandbox --------------------------------------------------------------


def _system() -> list[str]:
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


def _executable() -> str:
    """Return the path of the interpreter itself, not a virtual environment's link to it."""
    return os.path.realpath(getattr(sys, "_base_executable", sys.executable))


def _python_directories() -> list[Path]:
    """Return the paths of the interpreter and its standard library."""
    executable = Path(_executable())
    library = Path(sysconfig.get_path("stdlib")).resolve().parent
    # The interpreter's shared libraries are in lib, even where its modules are in lib64.
    candidates = [executable, library, Path(sys.base_prefix).resolve() / "lib"]
    return sorted({path for path in candidates if path.exists()})


@functools.cache
def _site_directories() -> tuple[Path, ...]:
    """Return the folders of installed packages: those on `sys.path`, and those that hold the packages we need."""
    paths = [Path(entry) for entry in sys.path if Path(entry).name in ("site-packages", "dist-packages")]
    for name in _IMPORTED:
        spec = importlib.util.find_spec(name)
        if spec is not None and spec.origin is not None:
            paths.append(Path(spec.origin).parent.parent)
    return tuple(dict.fromkeys(path.resolve() for path in paths if path.is_dir()))


def _folders_with_answers() -> set[Path]:
    """Return the folders that hold answers, or parts of the grader that know them."""
    data = sysconfig.get_path("data")  # Debian's own Python installs to /usr/local, not to its prefix
    shares = [Path(prefix) for prefix in (sys.prefix, sys.base_prefix, data, site.getuserbase()) if prefix]
    folders = [course_root(), PACKAGE, *(prefix / "share" / "hanstep" for prefix in shares)]
    folders += [directory / "grader" for directory in _site_directories()]
    return {folder.resolve() for folder in folders if folder.is_dir()}


def _binds_and_masks(bound: list[Path]) -> list[str]:
    """Return arguments that bind the folders `bound`, and mask every folder with answers inside them.

    Shallow paths come first, so that an environment inside the checkout is bound again on top of the checkout's mask.
    """
    visible = [Path("/usr"), *bound]
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


def explain_probe(found: Probe) -> str:
    """Return Korean lines that say what is missing for the sandbox and which command fixes it."""
    why = {
        "ok": "샌드박스를 쓸 수 있어요.",
        "not-linux": "샌드박스는 리눅스에서만 돌아요.",
        "no-bwrap": "제출물을 격리하려면 bubblewrap이 필요한데, 설치되어 있지 않아요.",
        "apparmor": "AppArmor가 bubblewrap의 사용자 네임스페이스를 막고 있어요.",
        "userns-off": "이 컴퓨터에서는 사용자 네임스페이스가 꺼져 있어요.",
        "container": "이 컨테이너 안에서는 bubblewrap이 격리를 만들 수 없어요.",
        "refused": "bubblewrap이 격리를 만들지 못했어요.",
    }[found.reason]
    lines = [why]
    if found.detail:
        lines.append(f"  ({found.detail})")
    if found.remedy:
        lines.append(f"이렇게 고칠 수 있어요: {found.remedy}")
    if not found.available:
        lines.append("믿을 수 있는 코드만 있다면 격리 없이 돌릴 수도 있어요: --sandbox none")
    return "\n".join(lines)


def _install_command() -> str:
    for manager, command in (
        ("apt-get", "apt-get install -y bubblewrap"),
        ("dnf", "dnf install -y bubblewrap"),
        ("pacman", "pacman -S --noconfirm bubblewrap"),
        ("apk", "apk add bubblewrap"),
    ):
        if shutil.which(manager):
            return _as_root(command)
    return ""


def _why_refused() -> tuple[Reason, str]:
    """Return the setting that most likely forbids namespaces, and the command that changes it."""
    if _kernel_setting("kernel/apparmor_restrict_unprivileged_userns") == "1":
        # Ubuntu since 24.04. A profile of this name also replaces the stricter one of newer releases, which lets
        # bubblewrap itself create namespaces, but not its children.
        profile = "abi <abi/4.0>,\\nprofile bwrap /usr/bin/bwrap flags=(unconfined) { userns, }\\n"
        file = "/etc/apparmor.d/bwrap"
        tee, load = _as_root(f"tee {file}"), _as_root(f"apparmor_parser -r {file}")
        return "apparmor", f"printf '{profile}' | {tee} && {load}"
    for name, value in (("kernel/unprivileged_userns_clone", "1"), ("user/max_user_namespaces", "15000")):
        if _kernel_setting(name) == "0":
            return "userns-off", _as_root(f"sysctl -w {name.replace('/', '.')}={value}")
    if Path("/.dockerenv").exists() or Path("/run/.containerenv").exists():
        return "container", "docker run --privileged …"
    return "refused", ""


def _as_root(command: str) -> str:
    return command if os.geteuid() == 0 else f"sudo {command}"


def _kernel_setting(name: str) -> str | None:
    try:
        return Path("/proc/sys", name).read_text().strip()
    except OSError:
        return None
