# mistakes: exhausts-generator, touches-none, nan-spreads
# lines: 13, 7, 11
def clip_global_norm(params, max_norm) -> float:
    # 1. 전체 노름
    total = 0.0
    for p in params:
        total += p.grad.pow(2).sum().item()
    norm = total ** 0.5

    # 2. 넘으면 줄이기
    if norm > max_norm:
        scale = max_norm / norm
        for p in params:
            p.grad *= scale
    return norm
