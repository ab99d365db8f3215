# mistakes: keeps-frozen, keeps-empty-groups, leaves-the-default
# lines: 7, 11, 13
# hidden:
def weight_decay_groups(model, weight_decay) -> list[dict]:
    decay, no_decay = [], []
    for p in model.parameters():
        if p.ndim >= 2:
            decay += [p]
        elif p.requires_grad:
            no_decay += [p]
    groups = [{"params": decay, "weight_decay": weight_decay}]
    if no_decay:
        groups += [{"params": no_decay}]
    return groups
