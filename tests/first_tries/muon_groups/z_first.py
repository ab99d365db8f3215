# mistakes: part-of-the-name
# lines: 15
# hidden:
from torch import nn


def muon_groups(model: nn.Module, *, head: str = "head") -> tuple[list, list]:
    excluded = set()
    found = False
    for name, mod in model.named_modules():
        if isinstance(mod, nn.Embedding):
            excluded.add(id(mod.weight))
        if name.startswith(head):
            found = True
            excluded.update(id(p) for p in mod.parameters())
    if not found:
        raise KeyError(head)

    muon, adamw = [], []
    for p in model.parameters():
        if not p.requires_grad:
            continue
        target = muon if p.ndim == 2 and id(p) not in excluded else adamw
        target.append(p)
    return muon, adamw
