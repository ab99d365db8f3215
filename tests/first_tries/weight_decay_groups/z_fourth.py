# mistakes: tied-twice, spares-embeddings, keeps-empty-groups
# lines: 17, 12, 28
# hidden:
import torch
from torch import nn


def weight_decay_groups(model, weight_decay) -> list[dict]:
    감쇠할_것, 나머지 = [], []

    def 감쇠하나(모듈, p):
        if isinstance(모듈, nn.Embedding):
            return False
        return p.dim() >= 2

    for 모듈 in model.modules():
        for p in 모듈.parameters(recurse=False):
            if not p.requires_grad:
                continue
            if 감쇠하나(모듈, p):
                감쇠할_것.append(p)
            else:
                나머지.append(p)

    groups = []
    if 감쇠할_것:
        groups.append({"params": 감쇠할_것, "weight_decay": weight_decay})
    groups.append({"params": 나머지, "weight_decay": 0.0})
    return groups
