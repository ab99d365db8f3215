# mistakes: decays-everything
# lines: 12
# hidden:
def weight_decay_groups(model, weight_decay) -> list[dict]:
    groups = {True: [], False: []}
    for p in model.parameters():
        groups[p.ndim >= 2].append(p)
    result = []
    for has_decay, params in groups.items():
        params = [p for p in params if p.requires_grad]
        if params:
            result.append({"params": params, "weight_decay": weight_decay})
    return result
