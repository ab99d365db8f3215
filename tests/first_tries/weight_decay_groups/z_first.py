# mistakes: tied-twice
# lines: 12
# hidden:
import torch


def weight_decay_groups(model, weight_decay) -> list[dict]:
    matrices, others = [], []

    # 모듈을 하나씩 돌며 자기 것만 담는다
    for module in model.modules():
        for p in module.parameters(recurse=False):
            if not p.requires_grad:
                continue
            if p.dim() >= 2:
                matrices.append(p)
            else:
                others.append(p)

    groups = [
        {"params": matrices, "weight_decay": weight_decay},
        {"params": others, "weight_decay": 0.0},
    ]
    return [g for g in groups if g["params"]]
