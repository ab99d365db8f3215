# A frame of 4 GiB, and no end of it.
import os


def first(model, opt, xb):
    os.write(3, b"\x00\x00\x00\x10\xff\xff\xff\xff" + b"{" * 16)
    while True:
        os.write(3, b"x" * 65536)
