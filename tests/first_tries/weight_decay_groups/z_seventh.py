# mistakes: tied-twice
# lines: 8
# hidden:
import torch


def weight_decay_groups(model, weight_decay) -> list[dict]:
    every_parameter = [p for module in model.modules() for p in module.parameters(recurse=False)]
    trainable = [p for p in every_parameter if p.requires_grad]

    def group(members, decay):
        return {"params": members, "weight_decay": decay}

    candidates = [
        group([p for p in trainable if p.dim() >= 2], weight_decay),
        group([p for p in trainable if p.dim() < 2], 0.0),
    ]
    return [g for g in candidates if len(g["params"]) > 0]
