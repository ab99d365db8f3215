import os


def first(model, opt, xb):
    os.abort()
