"""Build the command that starts the sandbox's server: its Python, its import path, and its environment.

They are the same inside bubblewrap and without isolation, except that the grader lies in another place inside.
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
"""Packages that the server cannot do without, wherever they are installed."""


def python_command(folders: list[str], code: str) -> list[str]:
    """Return the command that runs `code` in a Python that imports only from the standard library and `folders`.

    Its options are those of `-I` but for `-E`: PYTHONHASHSEED is respected, because the order of a set of names must
    not change between two runs. In addition, it does without site-packages (`-S`).
    """
    start = f"import sys; sys.path[:0] = {folders!r}; {code}"
    return [interpreter(), "-s", "-S", "-P", "-B", "-X", "utf8", "-c", start]


def import_path(*, isolate: bool) -> list[str]:
    """Return the import path of the server: the folder that holds `grader`, then the folders of installed packages.

    Args:
        isolate: True if the server runs inside bubblewrap.
    """
    import_root = IMPORT_ROOT_INSIDE if isolate else GRADER_PACKAGE.parent
    return [str(import_root), *(str(path) for path in package_folders())]


def server_environment(device: str, home: str = "/tmp") -> dict[str, str]:
    """Return all environment variables of the server.

    None of the caller's variables is among them, because they may hold tokens; except CUDA_VISIBLE_DEVICES, for a GPU.

    Args:
        device: `cpu`, or a GPU.
        home: the server's home, and its folder for temporary files.
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


def interpreter() -> str:
    """Return the path of the interpreter itself, not a virtual environment's link to it."""
    return os.path.realpath(getattr(sys, "_base_executable", sys.executable))


@functools.cache
def package_folders() -> tuple[Path, ...]:
    """Return the folders of installed packages: those on `sys.path`, and those that hold the packages needed here."""
    paths = [Path(entry) for entry in sys.path if Path(entry).name in ("site-packages", "dist-packages")]
    for name in _NEEDED_PACKAGES:
        spec = importlib.util.find_spec(name)
        if spec is not None and spec.origin is not None:
            paths.append(Path(spec.origin).parent.parent)
    return tuple(dict.fromkeys(path.resolve() for path in paths if path.is_dir()))
