# mistakes: forces-train-mode, clip-before-backward|no-clip|clip-after-step, scheduler-gets-loss
# lines: 7, 15, 19
import torch


def train_step_extras(model, opt, loss_fn, xb, yb, *, max_norm=None, scheduler=None) -> float:
    model.train()
    opt.zero_grad()
    out = model(xb)
    loss = loss_fn(out, yb)
    loss.backward()
    opt.step()

    if max_norm is not None:
        torch.nn.utils.clip_grad_norm_(model.parameters(), max_norm)

    train_loss = loss.item()
    if scheduler is not None:
        scheduler.step(train_loss)
    return train_loss
