# mistakes: one-group-for-zero, chooses-by-name
# lines: 10, 15
# hidden:
def weight_decay_groups(model, weight_decay) -> list[dict]:
    trainable = [(name, p) for name, p in model.named_parameters() if p.requires_grad]

    def pack(members, decay):
        return [{"params": members, "weight_decay": decay}] if members else []

    if not weight_decay:
        # 감쇠가 없으면 나눌 필요가 없다
        return pack([p for _, p in trainable], 0.0)

    def no_decay(name):
        return "bias" in name or "norm" in name.lower()

    first = [p for name, p in trainable if not no_decay(name)]
    second = [p for name, p in trainable if no_decay(name)]
    return pack(first, weight_decay) + pack(second, 0.0)
