# mistakes: 두 차원보다 많은 것만 첫 그룹에 넣음
# lines: 8
def weight_decay_groups(model, weight_decay):
    decay, no_decay = [], []
    for p in model.parameters():
        if not p.requires_grad:
            continue
        if p.dim() > 2:
            decay.append(p)
        else:
            no_decay.append(p)
    groups = []
    if decay:
        groups.append({"params": decay, "weight_decay": weight_decay})
    if no_decay:
        groups.append({"params": no_decay, "weight_decay": 0.0})
    return groups
