# Opens files until none can be opened any more, then creates files until /tmp holds no more.
import os


def first(model, opt, xb):
    held, made = [], 0
    try:
        while True:
            held.append(open("/dev/null"))
    except OSError as error:
        opened = error.errno
    count = len(held)
    for file in held:
        file.close()
    try:
        while True:
            os.close(os.open(f"/tmp/{made}", os.O_CREAT))
            made += 1
    except OSError as error:
        raise OSError(f"open: {count} {opened}, made: {made} {error.errno}") from error
