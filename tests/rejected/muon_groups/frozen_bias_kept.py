# expect: keeps-frozen
from torch import nn


def muon_groups(model: nn.Module, *, head: str = "head") -> tuple[list, list]:
    modules = dict(model.named_modules())
    special = {id(p) for p in modules[head].parameters()}
    special |= {id(m.weight) for m in modules.values() if isinstance(m, nn.Embedding)}
    muon = [p for p in model.parameters() if p.ndim == 2 and p.requires_grad and id(p) not in special]
    chosen = {id(p) for p in muon}
    adamw = [p for p in model.parameters() if id(p) not in chosen]
    return muon, adamw
