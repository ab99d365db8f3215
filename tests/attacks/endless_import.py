# Never even loads.
while True:
    pass


def first(model, opt, xb):
    return 0.0
