import os


def first(model, opt, xb):
    while True:
        os.write(2, b"x" * 65536)
