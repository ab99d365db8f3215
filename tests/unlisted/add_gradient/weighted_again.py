# mistakes: 손실에 곱하고 나서 .grad에도 한 번 더 곱함
# lines: 13
def add_gradient(model, loss_fn, xb, yb, weight):
    loss = loss_fn(model(xb), yb)
    before = [None if p.grad is None else p.grad.clone() for p in model.parameters()]
    for p in model.parameters():
        p.grad = None
    (loss * weight).backward()
    for p, old in zip(model.parameters(), before):
        if p.grad is None:
            p.grad = old
        else:
            p.grad = p.grad * weight
            if old is not None:
                p.grad = p.grad + old
    return loss.item()
