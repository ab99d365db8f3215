# mistakes: part-of-the-name, takes-higher, keeps-frozen
# lines: 18, 25, 28
# hidden:
from torch import nn


def muon_groups(model: nn.Module, *, head: str = "head") -> tuple[list, list]:
    all_modules = dict(model.named_modules())
    if head not in all_modules:
        raise KeyError(head)

    def kept_away():
        """Muon에 넣으면 안 되는 텐서의 id"""
        ids = set()
        for module_name, module in all_modules.items():
            if isinstance(module, nn.Embedding):
                ids.add(id(module.weight))
            if module_name.startswith(head):
                ids.update(id(p) for p in module.parameters())
        return ids

    away = kept_away()

    def is_for_muon(p):
        return p.ndim >= 2 and id(p) not in away

    muon = [p for p in model.parameters() if p.requires_grad and is_for_muon(p)]
    adamw = [p for p in model.parameters() if not is_for_muon(p)]
    return muon, adamw
