# mistakes: scales-everything, forces-train-mode
# lines: 14, 5
# hidden:
def add_gradient(model, loss_fn, xb, yb, weight) -> float:
    model.train()
    out = model(xb)
    loss = loss_fn(out, yb)
    loss.backward()

    # 구한 그레이디언트에 weight를 곱한다
    for param in model.parameters():
        if param.grad is None:
            continue
        param.grad.mul_(weight)

    return loss.item()
