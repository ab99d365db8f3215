import ctypes


def first(model, opt, xb):
    ctypes.string_at(0)
