# mistakes: three-dimensions-or-more
# lines: 5
# hidden:
def weight_decay_groups(model, weight_decay):
    decay = [p for p in model.parameters() if p.requires_grad and p.ndim > 2]
    rest = [p for p in model.parameters() if p.requires_grad and p.ndim <= 2]
    groups = []
    if decay:
        groups.append({"params": decay, "weight_decay": weight_decay})
    if rest:
        groups.append({"params": rest, "weight_decay": 0.0})
    return groups
