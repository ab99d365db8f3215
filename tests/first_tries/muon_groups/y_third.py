# mistakes: first-name-only
# lines: 13
# hidden:
from torch import nn


def muon_groups(model: nn.Module, *, head: str = "head") -> tuple[list, list]:
    in_head = set(dict(model.named_modules())[head].modules())  # 없으면 KeyError
    groups = {"muon": [], "adamw": []}
    seen = set()
    for mod in model.modules():
        for p in mod.parameters(recurse=False):
            if id(p) in seen or not p.requires_grad:
                continue
            seen.add(id(p))
            outer = mod in in_head or (isinstance(mod, nn.Embedding) and p is mod.weight)
            key = "muon" if p.dim() == 2 and not outer else "adamw"
            groups[key].append(p)
    return groups["muon"], groups["adamw"]
