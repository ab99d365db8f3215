# expect: zero-weight-skipped
def add_gradient(model, loss_fn, xb, yb, weight) -> float:
    if not weight:
        return 0.0
    loss = loss_fn(model(xb), yb)
    if loss.requires_grad:
        (weight * loss).backward()
    return loss.item()
