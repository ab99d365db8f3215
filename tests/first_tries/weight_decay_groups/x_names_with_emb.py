# mistakes: spares-embeddings, keeps-frozen, keeps-empty-groups
# lines: 6, 6, 10
# hidden:
def weight_decay_groups(model, weight_decay):
    decay, no_decay = [], []
    for name, p in model.named_parameters():
        if p.dim() >= 2 and "emb" not in name:
            decay.append(p)
        else:
            no_decay.append(p)
    return [{"params": decay, "weight_decay": weight_decay}, {"params": no_decay, "weight_decay": 0.0}]
