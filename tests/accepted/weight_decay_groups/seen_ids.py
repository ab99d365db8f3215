def weight_decay_groups(model, weight_decay):
    """Walks the modules itself, in the order of `parameters()`, and keeps the ids that it has met."""
    seen, chosen = set(), {True: [], False: []}
    for module in model.modules():
        for param in module._parameters.values():
            if param is None or id(param) in seen:
                continue
            seen.add(id(param))
            if param.requires_grad:
                chosen[len(param.shape) > 1].append(param)
    values = {True: weight_decay, False: 0.0}
    return [{"params": chosen[kind], "weight_decay": values[kind]} for kind in (True, False) if chosen[kind]]
