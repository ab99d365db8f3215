# mistakes: chooses-by-name
# lines: 15
# hidden:
def no_decay(name):
    # 바이어스와 정규화 층은 감쇠하지 않는다
    name = name.lower()
    return name.endswith("bias") or "norm" in name or "ln" in name


def weight_decay_groups(model, weight_decay) -> list[dict]:
    big, small = [], []
    for name, p in model.named_parameters():
        if not p.requires_grad:
            continue
        (small if no_decay(name) else big).append(p)

    groups = [
        {"params": big, "weight_decay": weight_decay},
        {"params": small, "weight_decay": 0.0},
    ]
    return [g for g in groups if g["params"]]
