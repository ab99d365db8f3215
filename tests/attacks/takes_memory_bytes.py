def first(model, opt, xb):
    return float(len(bytearray(40 * 2**30)))
