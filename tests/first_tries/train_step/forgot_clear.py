# mistakes: missing-zero-grad, returns-tensor
# lines: 4, 8
def train_step(model, opt, loss_fn, xb, yb) -> float:
    pred = model(xb)
    loss = loss_fn(pred, yb)
    loss.backward()
    opt.step()
    return loss
