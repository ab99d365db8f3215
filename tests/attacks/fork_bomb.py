# Forks without end, in every way there is.
import ctypes
import multiprocessing
import os
import subprocess


def first(model, opt, xb):
    libc = ctypes.CDLL(None, use_errno=True)
    made = 0
    for make in (
        os.fork,
        lambda: subprocess.Popen(["/bin/true"]),
        lambda: multiprocessing.get_context("fork").Process(target=print).start(),
        lambda: os.posix_spawn("/bin/true", ["true"], {}),
        lambda: libc.fork() if libc.fork() >= 0 else os.fork(),
        lambda: libc.syscall(56, 17, 0, 0, 0, 0) if libc.syscall(56, 17, 0, 0, 0, 0) >= 0 else os.fork(),
    ):
        try:
            make()
            made += 1
        except OSError:
            pass
    if made:
        while True:
            os.fork()
    raise ChildProcessError(f"made: {made}")
