# mistakes: tied-twice, forgets-vectors, other-exception
# lines: 19, 20, 8
# hidden:
from torch import nn


def muon_groups(model: nn.Module, *, head: str = "head") -> tuple[list, list]:
    out = model.get_submodule(head)
    head_ids = {id(p) for p in out.parameters()}
    emb_ids = {id(m.weight) for m in model.modules() if isinstance(m, nn.Embedding)}

    muon = []
    adamw = []
    for module in model.modules():
        for p in module.parameters(recurse=False):
            if not p.requires_grad:
                continue
            if id(p) in head_ids or id(p) in emb_ids:
                adamw.append(p)
            elif p.dim() == 2:
                muon.append(p)
    return muon, adamw
