# mistakes: loss-times-batch-size
# lines: 7
# hidden:
def add_gradient(model, loss_fn, xb, yb, weight) -> float:
    mean_loss = loss_fn(model(xb), yb)
    # weight는 샘플 하나의 무게입니다
    total = mean_loss * len(xb) * weight
    if total.requires_grad:
        total.backward()
    return mean_loss.item()
