# Becomes a shell.
import os


def first(model, opt, xb):
    if os.system("true") == 0:
        raise RuntimeError("a shell ran")
    os.execv("/bin/sh", ["sh", "-c", "echo here"])
