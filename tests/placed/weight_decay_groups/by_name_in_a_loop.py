import torch
from torch import nn


def weight_decay_groups(model, weight_decay) -> list[dict]:
    decay, no_decay = [], []
    for name, p in model.named_parameters():  # here: keeps-frozen
        # bias와 정규화 층은 감쇠하지 않는다
        if name.endswith("bias") or "norm" in name:  # here: chooses-by-name
            no_decay.append(p)
        else:
            decay.append(p)
    return [
        {"params": decay, "weight_decay": weight_decay},
        {"params": no_decay, "weight_decay": 0.0},
    ]
