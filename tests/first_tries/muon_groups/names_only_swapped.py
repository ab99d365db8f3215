# mistakes: first-name-only, one-weight-in-head, swaps-the-lists, passes-over-missing
# lines: 17, 8, 21, 8
# hidden:
from torch import nn


def muon_groups(model: nn.Module, *, head: str = "head") -> tuple[list, list]:
    skip = {f"{head}.weight"}
    for name, module in model.named_modules():
        if isinstance(module, nn.Embedding):
            skip.add(name + ".weight")

    adam, muon = [], []
    for name, p in model.named_parameters():
        if not p.requires_grad:
            continue
        if p.ndim == 2 and name not in skip:
            muon.append(p)
        else:
            adam.append(p)
    return adam, muon
