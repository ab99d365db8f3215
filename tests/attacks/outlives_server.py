# Asks the kernel not to end it with its parent, and computes for ever in a session of its own.
import ctypes
import os


def first(model, opt, xb):
    ctypes.CDLL(None).prctl(1, 0, 0, 0, 0)
    try:
        os.setsid()
    except OSError:
        pass
    while True:
        pass
