import math
from collections import Counter
from statistics import pvariance


def baseline_loss(targets):
    if "float" in str(targets.dtype):
        return float(pvariance(targets.tolist()))
    counts = Counter(n for n in targets.tolist() if n != -100)
    total = sum(counts.values())
    return sum(-c / total * math.log(c / total) for c in counts.values())
