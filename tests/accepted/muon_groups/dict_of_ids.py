from torch import nn


def muon_groups(model: nn.Module, *, head: str = "head") -> tuple[list, list]:
    goes_to_muon = {id(p): p.ndim == 2 for p in model.parameters()}
    found = False
    for name, module in model.named_modules():
        found = found or name == head
        if name == head or isinstance(module, nn.Embedding):
            goes_to_muon.update((id(p), False) for p in module.parameters())
    if not found:
        raise KeyError(head)
    muon = [p for p in model.parameters() if goes_to_muon[id(p)] and p.requires_grad]
    adamw = [p for p in model.parameters() if not goes_to_muon[id(p)] and p.requires_grad]
    return muon, adamw
