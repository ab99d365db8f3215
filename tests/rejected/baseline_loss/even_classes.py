# expect: even-classes
import math


def baseline_loss(targets):
    if targets.is_floating_point():
        return float(((targets - targets.mean()) ** 2).mean())
    return math.log(len(targets[targets != -100].unique()))
