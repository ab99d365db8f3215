# mistakes: exhausts-generator, asks-whether-positive
# lines: 6, 11
# hidden:
def zero_gradients(params) -> None:
    # 지울 것이 없으면 바로 끝낸다
    if not any(p.grad is not None for p in params):
        return
    for p in params:
        if p.grad is None:
            continue
        if p.grad.abs().sum() > 0:  # 이미 0이면 건너뛴다
            p.grad = None
