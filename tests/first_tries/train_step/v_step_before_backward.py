# mistakes: step-before-backward, returns-tensor
# lines: 9, 11
# hidden:
def train_step(model, opt, loss_fn, xb, yb) -> float:
    # zero -> forward -> loss -> step -> backward
    opt.zero_grad()
    logits = model(xb)
    loss = loss_fn(logits, yb)
    opt.step()
    loss.backward()
    return loss.detach()
