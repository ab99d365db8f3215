# mistakes: returns-loss-after-update
# lines: 12
# hidden:
def train_step(model, opt, loss_fn, xb, yb) -> float:
    def current_loss():
        predictions = model(xb)
        return loss_fn(predictions, yb)

    current_loss().backward()
    opt.step()
    opt.zero_grad()
    return current_loss().item()
