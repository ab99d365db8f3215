# mistakes: zero-grad-before-step, returns-loss-after-update
# lines: 7, 9
def train_step(model, opt, loss_fn, xb, yb) -> float:
    out = model(xb)
    loss = loss_fn(out, yb)
    loss.backward()
    opt.zero_grad()
    opt.step()
    return loss_fn(model(xb), yb).item()
