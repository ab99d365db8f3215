# mistakes: takes-higher, part-of-the-name, keeps-frozen
# lines: 21, 16, 20
# hidden:
import torch
import torch.nn as nn


def muon_groups(model: nn.Module, *, head: str = "head") -> tuple[list, list]:
    if head not in dict(model.named_modules()):
        raise KeyError(head)

    embedding_ids = {id(m.weight) for m in model.modules() if isinstance(m, nn.Embedding)}
    head_ids = {
        id(p)
        for name, p in model.named_parameters(remove_duplicate=False)
        if name.startswith(head)
    }

    muon, adamw = [], []
    for p in model.parameters():
        if p.ndim >= 2 and id(p) not in embedding_ids and id(p) not in head_ids:
            muon.append(p)
        else:
            adamw.append(p)
    return muon, adamw
