# mistakes: takes-higher, part-of-the-name
# lines: 25, 18
# hidden:
from torch import nn


def muon_groups(model: nn.Module, *, head: str = "head") -> tuple[list, list]:
    names = [name for name, _ in model.named_modules()]
    if head not in names:
        raise KeyError(head)

    # AdamW로 갈 텐서의 id를 먼저 모은다 (묶인 가중치 때문에 id로 비교)
    adam_ids = set()
    for module in model.modules():
        if isinstance(module, nn.Embedding):
            adam_ids.add(id(module.weight))
    for name, p in model.named_parameters(remove_duplicate=False):
        if name.startswith(head):
            adam_ids.add(id(p))

    muon, adam = [], []
    for p in model.parameters():
        if not p.requires_grad:
            continue
        if p.ndim >= 2 and id(p) not in adam_ids:
            muon.append(p)
        else:
            adam.append(p)
    return muon, adam
