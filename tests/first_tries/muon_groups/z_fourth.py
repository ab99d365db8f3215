# mistakes: takes-higher, passes-over-missing, keeps-frozen
# lines: 21, 16, 33
# hidden:
import torch
from torch import nn


class _Sorter:
    """매개변수 하나가 어디로 갈지 정한다."""

    def __init__(self, model, head):
        self.special = set()
        for name, module in model.named_modules():
            if isinstance(module, nn.Embedding):
                self.special.add(id(module.weight))
            if name == head:
                for p in module.parameters():
                    self.special.add(id(p))

    def is_matrix(self, p):
        return p.dim() > 1

    def wants_muon(self, p):
        if id(p) in self.special:
            return False
        return self.is_matrix(p)


def muon_groups(model: nn.Module, *, head: str = "head") -> tuple[list, list]:
    sorter = _Sorter(model, head)
    muon, adamw = [], []
    for p in model.parameters():
        if p.requires_grad and sorter.wants_muon(p):
            muon.append(p)
        else:
            adamw.append(p)
    return muon, adamw
