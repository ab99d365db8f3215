"""Build the command that starts the sandbox's server, and its environment variables.

`server_process.py` runs the command, for an isolated server behind that of `bubblewrap.py`. To give the server another
environment variable, add it in `server_environment`.

Two paths in them depend on isolation. Inside bubblewrap, the folder that holds `grader` is `IMPORT_ROOT_INSIDE`, and
the server's HOME and TMPDIR are the /tmp that bubblewrap makes. Without it, they are the folder of this installation,
and a temporary folder of the server's own.
"""

import functools
import importlib.util
import os
import sys
from pathlib import Path

GRADER_PACKAGE = Path(__file__).resolve().parent.parent
"""Folder of the package `grader` on this machine."""
IMPORT_ROOT_INSIDE = Path("/hanstep")
"""Folder inside bubblewrap that holds the parts of `grader` that the server imports."""
_NEEDED_PACKAGES = ("torch", "numpy", "safetensors", "msgspec")
"""Packages that our code in the server imports. The folder that holds each is on the import path, whatever its name."""


def python_command(folders: list[str], code: str) -> list[str]:
    """Return the command that runs `code` in a Python that imports only from the standard library and `folders`.

    Run the command with the variables of `server_environment` only: Python would follow a PYTHONPATH.
    """
    # -P: nothing from the working directory; -S: no site-packages but those in `folders`; -B: write no .pyc files; -X
    # utf8: UTF-8 whatever the locale. Not -I, which also ignores PYTHONHASHSEED: the order of a set must be the same in
    # every run.
    code_with_path = f"import sys; sys.path[:0] = {folders!r}; {code}"
    return [interpreter_path(), "-P", "-S", "-B", "-X", "utf8", "-c", code_with_path]


def import_path(*, isolate: bool) -> list[str]:
    """Return what comes before the standard library in the server's import path.

    These are the folder that holds `grader`, then the folders of installed packages.

    Args:
        isolate: True if the server runs inside bubblewrap.
    """
    import_root = IMPORT_ROOT_INSIDE if isolate else GRADER_PACKAGE.parent
    return [str(import_root), *(str(path) for path in package_folders())]


def server_environment(device: str, own_folder: str = "/tmp") -> dict[str, str]:
    """Return the environment variables to start the server with.

    Of this process's variables, only CUDA_VISIBLE_DEVICES is among them, and only for a GPU. Others may hold a token,
    which submissions could read, or may make submissions behave differently.

    Args:
        device: `cpu` or `cuda`.
        own_folder: the server's HOME and TMPDIR. The default is the folder that bubblewrap makes for it.
    """
    variables = {
        "PATH": "/usr/bin:/bin",
        "HOME": own_folder,
        "TMPDIR": own_folder,
        "LANG": "C.UTF-8",
        "PYTHONHASHSEED": "0",
        "MPLBACKEND": "Agg",  # draws into memory, because there is no display
        # One thread for each library: threads are not forked, so a child would wait for ever for worker threads that
        # only the server has.
        "OMP_NUM_THREADS": "1",
        "OPENBLAS_NUM_THREADS": "1",
        "MKL_NUM_THREADS": "1",
        "JOBLIB_MULTIPROCESSING": "0",  # joblib would try multiprocessing, which needs /dev/shm
        # malloc instead of pymalloc, because only glibc's malloc can ask for huge pages. With them the page table that
        # a fork copies is smaller: a fork of the warmed server takes 3 ms, without them 14 ms.
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


def interpreter_path() -> str:
    """Return the path of the interpreter itself, not a virtual environment's link to it."""
    # `sys._base_executable` is the Python that a virtual environment was made from, also where it is a copy, not a
    # link.
    return os.path.realpath(getattr(sys, "_base_executable", sys.executable))


@functools.cache
def package_folders() -> tuple[Path, ...]:
    """Return the folders of installed packages that exist, each once; found at the first call.

    These are the entries of `sys.path` called site-packages or dist-packages, the user's among them, and the folders
    that hold `_NEEDED_PACKAGES`, which may have other names.
    """
    paths = [Path(entry) for entry in sys.path if Path(entry).name in ("site-packages", "dist-packages")]
    for name in _NEEDED_PACKAGES:
        spec = importlib.util.find_spec(name)
        if spec is not None and spec.origin is not None:
            paths.append(Path(spec.origin).parent.parent)
    return tuple(dict.fromkeys(path.resolve() for path in paths if path.is_dir()))
