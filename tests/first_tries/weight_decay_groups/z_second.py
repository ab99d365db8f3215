# mistakes: one-group-for-zero, chooses-by-name, keeps-empty-groups
# lines: 8, 12, 16
# hidden:
def weight_decay_groups(model, weight_decay) -> list[dict]:
    learnable = [(name, p) for name, p in model.named_parameters() if p.requires_grad]

    # 감쇠가 없으면 나눌 까닭이 없다
    if not weight_decay:
        return [{"params": [p for _, p in learnable], "weight_decay": 0.0}]

    def gets_decay(name):
        return not name.endswith("bias")

    with_decay = list(map(lambda pair: pair[1], filter(lambda pair: gets_decay(pair[0]), learnable)))
    without_decay = list(map(lambda pair: pair[1], filter(lambda pair: not gets_decay(pair[0]), learnable)))
    return [
        {"params": with_decay, "weight_decay": weight_decay},
        {"params": without_decay, "weight_decay": 0.0},
    ]
