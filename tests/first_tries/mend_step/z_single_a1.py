# mistakes: step-before-backward
# lines: 5
# hidden:
def mend_step(model, opt, loss_fn, xb, yb) -> None:
    opt.step()
    logits = model(xb)
    loss = loss_fn(logits, yb)
    opt.zero_grad()
    loss.backward()
