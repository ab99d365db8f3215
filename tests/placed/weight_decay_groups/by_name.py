def weight_decay_groups(model, weight_decay):
    no_decay = ["bias", "LayerNorm.weight"]
    decay_params, rest = [], []
    for name, p in model.named_parameters():
        if not p.requires_grad:
            continue
        if any(nd in name for nd in no_decay):  # here: chooses-by-name
            rest.append(p)
        else:
            decay_params.append(p)
    groups = [
        {"params": decay_params, "weight_decay": weight_decay},
        {"params": rest, "weight_decay": 0.0},
    ]
    return [g for g in groups if g["params"]]
