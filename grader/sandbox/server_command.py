"""Build the command that starts the sandbox's server: its Python, its import path, and its environment.

With and without bubblewrap they are the same but for two paths. The folder that holds `grader`, the first of the import
path, is `IMPORT_ROOT_INSIDE` with it. The server's own folder, its HOME and TMPDIR, is the /tmp that bubblewrap makes.
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
"""Packages that the server imports. The folders that hold them are on its import path, whatever these are called."""


def python_command(folders: list[str], code: str) -> list[str]:
    """Return the command that runs `code` in a Python that imports only from the standard library and `folders`.

    Run the command with the variables of `server_environment`.
    """
    # -s: no packages of the user; -P: nothing from the working directory; -S: no site-packages; -B: write no .pyc
    # files; -X utf8: UTF-8 whatever the locale. -I would stand for -s and -P, but it also ignores PYTHONHASHSEED, and
    # the order of a set must be the same in every run.
    code_with_path = f"import sys; sys.path[:0] = {folders!r}; {code}"
    return [interpreter_path(), "-s", "-P", "-S", "-B", "-X", "utf8", "-c", code_with_path]


def import_path(*, isolate: bool) -> list[str]:
    """Return the import path of the server: the folder that holds `grader`, then the folders of installed packages.

    Args:
        isolate: True if the server runs inside bubblewrap.
    """
    import_root = IMPORT_ROOT_INSIDE if isolate else GRADER_PACKAGE.parent
    return [str(import_root), *(str(path) for path in package_folders())]


def server_environment(device: str, own_folder: str = "/tmp") -> dict[str, str]:
    """Return all environment variables of the server.

    Of this process's variables, only CUDA_VISIBLE_DEVICES is passed on, and only for a GPU. Any other may hold a token,
    which submissions could read, or change what they do.

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
    return os.path.realpath(getattr(sys, "_base_executable", sys.executable))


@functools.cache
def package_folders() -> tuple[Path, ...]:
    """Return the folders of installed packages.

    These are the entries of `sys.path` called site-packages or dist-packages, and the folders of `_NEEDED_PACKAGES`.
    """
    paths = [Path(entry) for entry in sys.path if Path(entry).name in ("site-packages", "dist-packages")]
    for name in _NEEDED_PACKAGES:
        spec = importlib.util.find_spec(name)
        if spec is not None and spec.origin is not None:
            paths.append(Path(spec.origin).parent.parent)
    return tuple(dict.fromkeys(path.resolve() for path in paths if path.is_dir()))
