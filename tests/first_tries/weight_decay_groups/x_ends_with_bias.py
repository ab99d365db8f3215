# mistakes: chooses-by-name, tied-twice
# lines: 10, 7
# hidden:
def weight_decay_groups(model, weight_decay):
    decay = []
    nodecay = []
    for n, p in model.named_parameters(remove_duplicate=False):
        if not p.requires_grad:
            continue
        if n.endswith("bias"):
            nodecay.append(p)
        else:
            decay.append(p)
    out = []
    if len(decay) > 0:
        out.append({"params": decay, "weight_decay": weight_decay})
    if len(nodecay) > 0:
        out.append({"params": nodecay, "weight_decay": 0.0})
    return out
