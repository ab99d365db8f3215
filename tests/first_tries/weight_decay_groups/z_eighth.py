# mistakes: chooses-by-name, keeps-empty-groups, one-group-for-zero
# lines: 14, 16, 11
# hidden:
import torch


def weight_decay_groups(model, weight_decay) -> list[dict]:
    named = [(name, p) for name, p in model.named_parameters() if p.requires_grad]

    # 감쇠가 없으면 나눌 필요가 없다
    if weight_decay == 0:
        return [{"params": [p for _, p in named], "weight_decay": 0.0}]

    decay = [p for name, p in named if not name.endswith("bias")]
    no_decay = [p for name, p in named if name.endswith("bias")]
    return [
        {"params": decay, "weight_decay": weight_decay},
        {"params": no_decay, "weight_decay": 0.0},
    ]
