from itertools import groupby


def _is_small(pair):
    return pair[1].ndim < 2


def weight_decay_groups(model, weight_decay):
    """Pairs of name and parameter, which optimizers take too; sorted by kind, and sorting keeps the order."""
    pairs = filter(lambda pair: pair[1].requires_grad, model.named_parameters())
    return [
        {"params": list(group), "weight_decay": 0.0 if small else weight_decay, "name": str(small)}
        for small, group in groupby(sorted(pairs, key=_is_small), key=_is_small)
    ]
