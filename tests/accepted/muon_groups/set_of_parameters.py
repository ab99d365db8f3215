from torch import nn


def muon_groups(model, *, head="head"):
    """A tensor's hash is its identity, so a set of parameters does not compare values."""
    named = dict(model.named_modules())
    for_adamw = set(named[head].parameters())
    for module in model.modules():
        if isinstance(module, nn.Embedding):
            for_adamw.add(module.weight)
    muon, adamw = [], []
    for p in model.parameters():
        if not p.requires_grad:
            continue
        if p.dim() != 2 or p in for_adamw:
            adamw.append(p)
        else:
            muon.append(p)
    return muon, adamw
