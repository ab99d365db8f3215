# mistakes: embeddings-by-name, takes-higher, keeps-frozen
# lines: 14, 19, 18
# hidden:
from torch import nn


def muon_groups(model: nn.Module, *, head: str = "head") -> tuple[list, list]:
    modules = dict(model.named_modules())
    if head not in modules:
        raise KeyError(head)
    # 한 텐서를 함께 쓰면 이름이 여러 개다
    special = {id(p) for p in modules[head].parameters()}
    for name, p in model.named_parameters(remove_duplicate=False):
        if "emb" in name:
            special.add(id(p))

    muon, adam = [], []
    for p in model.parameters():
        if p.ndim >= 2 and id(p) not in special:
            muon.append(p)
        else:
            adam.append(p)
    return muon, adam
