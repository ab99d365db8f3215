# mistakes: detached-loss
# lines: 7
# hidden:
import torch
def train_step(model, opt, loss_fn, xb, yb):
    logits = model(xb)
    loss = (logits.argmax(1) != yb).float().mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
    return loss.item()
