import numpy as np


def first(model, opt, xb):
    return float(np.ones(5 * 2**30).sum())
