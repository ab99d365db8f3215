# expect: shared-to-adamw
from collections import Counter

from torch import nn


def muon_groups(model: nn.Module, *, head: str = "head") -> tuple[list, list]:
    modules = dict(model.named_modules())
    special = {id(p) for p in modules[head].parameters()}
    special |= {id(m.weight) for m in modules.values() if isinstance(m, nn.Embedding)}
    # 함께 쓰는 매개변수
    uses = Counter(id(p) for _, p in model.named_parameters(remove_duplicate=False))
    special |= {key for key, n in uses.items() if n > 1}
    muon, adamw = [], []
    for p in model.parameters():
        if p.requires_grad:
            (muon if p.ndim == 2 and id(p) not in special else adamw).append(p)
    return muon, adamw
