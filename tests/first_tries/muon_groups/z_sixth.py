# mistakes: part-of-the-name, first-name-only, takes-higher
# lines: 14, 24, 21
# hidden:
from torch import nn


def muon_groups(model: nn.Module, *, head: str = "head") -> tuple[list, list]:
    if head not in dict(model.named_modules()):
        raise KeyError(head)

    embedding_ids = {id(m.weight) for m in model.modules() if isinstance(m, nn.Embedding)}

    def belongs_to_head(name):
        return name.startswith(head)

    def for_muon(name, p):
        if id(p) in embedding_ids:
            return False
        if belongs_to_head(name):
            return False
        return p.dim() >= 2

    muon, adamw = [], []
    for name, p in model.named_parameters():
        if not p.requires_grad:
            continue
        (muon if for_muon(name, p) else adamw).append(p)
    return muon, adamw
