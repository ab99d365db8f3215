# expect: mode-lost-on-error+restores-one-mode
import torch


@torch.no_grad()
def evaluate(model, loss_fn, loader):
    was_training = model.training
    model.eval()
    losses, hits, n = [], [], 0
    for xb, yb in loader:
        out = model(xb)
        losses.append(loss_fn(out, yb) * len(xb))
        hits.append(out.argmax(-1) == yb)
        n += len(xb)
    model.train(was_training)
    return torch.stack(losses).sum().item() / n, torch.cat(hits).double().mean().item()
