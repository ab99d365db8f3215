# mistakes: spares-embeddings, tied-twice, one-group-for-zero
# lines: 21, 20, 15
# hidden:
from torch import nn


def weight_decay_groups(model, weight_decay) -> list[dict]:
    def trainable(params):
        return [p for p in params if p.requires_grad]

    def group(params, value):
        return [{"params": params, "weight_decay": value}] if params else []

    # 감쇠가 0이면 나눌 필요가 없다
    if weight_decay == 0:
        return group(trainable(model.parameters()), 0.0)

    decayed, plain = [], []
    for module in model.modules():
        for p in trainable(module.parameters(recurse=False)):
            if p.ndim >= 2 and not isinstance(module, nn.Embedding):
                decayed.append(p)
            else:
                plain.append(p)

    return group(decayed, weight_decay) + group(plain, 0.0)
