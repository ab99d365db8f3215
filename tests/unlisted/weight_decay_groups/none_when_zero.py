# mistakes: weight_decay가 0이면 나누지 않고 한 그룹으로 돌려줌
# lines: 5
def weight_decay_groups(model, weight_decay):
    params = [p for p in model.parameters() if p.requires_grad]
    if not weight_decay:
        return [{"params": params, "weight_decay": 0.0}] if params else []
    matrices = [p for p in params if p.ndim >= 2]
    vectors = [p for p in params if p.ndim < 2]
    groups = []
    if matrices:
        groups.append({"params": matrices, "weight_decay": weight_decay})
    if vectors:
        groups.append({"params": vectors, "weight_decay": 0.0})
    return groups
