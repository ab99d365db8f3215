# mistakes: keeps-empty-groups, one-group-for-zero
# lines: 11, 9
# hidden:
def weight_decay_groups(model, weight_decay):
    params = {n: p for n, p in model.named_parameters()}
    params = {n: p for n, p in params.items() if p.requires_grad}
    decay_params = [p for n, p in params.items() if p.dim() >= 2]
    nodecay_params = [p for n, p in params.items() if p.dim() < 2]
    if weight_decay == 0:
        return [{"params": decay_params + nodecay_params, "weight_decay": 0.0}]
    return [
        {"params": decay_params, "weight_decay": weight_decay},
        {"params": nodecay_params, "weight_decay": 0.0},
    ]
