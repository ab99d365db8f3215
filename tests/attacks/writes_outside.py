# Leaves something behind.
import os
import sys


def first(model, opt, xb):
    places = ["/", "/usr", "/usr/lib", "/dev", "/dev/shm", "/etc", "/hanstep", "/hanstep/grader", "/home", "/root", "/proc", "/var/tmp"]
    places += sys.path + ["CANARY"]
    written = []
    for place in places:
        try:
            with open(os.path.join(place, "left-behind"), "w") as file:
                file.write("x")
            written.append(place)
        except OSError:
            pass
    raise OSError(f"written: {written}")
