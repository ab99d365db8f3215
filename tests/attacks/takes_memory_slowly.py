# Never much at once.
def first(model, opt, xb):
    kept = []
    while True:
        kept.append(bytearray(2**24))
