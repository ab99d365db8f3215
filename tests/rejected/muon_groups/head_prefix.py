# expect: part-of-the-name
from torch import nn


def muon_groups(model: nn.Module, *, head: str = "head") -> tuple[list, list]:
    modules = dict(model.named_modules())
    if head not in modules:
        raise KeyError(head)
    special = {id(m.weight) for m in modules.values() if isinstance(m, nn.Embedding)}
    for name, p in model.named_parameters(remove_duplicate=False):
        if name.startswith(head):
            special.add(id(p))
    train = [p for p in model.parameters() if p.requires_grad]
    muon = [p for p in train if p.ndim == 2 and id(p) not in special]
    adamw = [p for p in train if p.ndim != 2 or id(p) in special]
    return muon, adamw
