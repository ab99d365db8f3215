# mistakes: takes-higher, embeddings-by-name, one-weight-in-head
# lines: 13, 17, 10
# hidden:
import torch
from torch import nn


def muon_groups(model: nn.Module, *, head: str = "head") -> tuple[list, list]:
    output_layer = dict(model.named_modules())[head]          # 없으면 KeyError
    output_weight = getattr(output_layer, "weight", None)

    def goes_to_muon(name, p):
        if p.ndim < 2:
            return False
        if p is output_weight:
            return False
        return "emb" not in name

    muon, adamw = [], []
    for name, p in model.named_parameters():
        if not p.requires_grad:
            continue
        (muon if goes_to_muon(name, p) else adamw).append(p)
    return muon, adamw
