# mistakes: groups-by-kind
# lines: 25
# hidden:
from torch import nn


def muon_groups(model: nn.Module, *, head: str = "head") -> tuple[list, list]:
    modules = dict(model.named_modules())
    if head not in modules:
        raise KeyError(head)
    used = set()

    def take(params):
        picked = []
        for p in params:
            if p.requires_grad and id(p) not in used:
                used.add(id(p))
                picked.append(p)
        return picked

    embeddings = take(m.weight for m in modules.values() if isinstance(m, nn.Embedding))
    output = take(modules[head].parameters())
    muon = take(p for p in model.parameters() if p.ndim == 2)
    rest = take(model.parameters())
    return muon, embeddings + output + rest
