# mistakes: one-group-for-zero
# lines: 14
# hidden:
import torch


def weight_decay_groups(model, weight_decay) -> list[dict]:
    params = [p for p in model.parameters() if p.requires_grad]

    def group(selected, wd):
        return [{"params": selected, "weight_decay": wd}] if selected else []

    # 감쇠가 없으면 나눌 필요가 없다
    if not weight_decay:
        return group(params, 0.0)

    matrices = [p for p in params if p.ndim >= 2]
    vectors = [p for p in params if p.ndim < 2]
    return group(matrices, weight_decay) + group(vectors, 0.0)
