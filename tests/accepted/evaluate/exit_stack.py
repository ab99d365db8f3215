from contextlib import ExitStack

import torch


def evaluate(model, loss_fn, loader) -> tuple:
    with ExitStack() as stack:
        for module in model.modules():
            stack.callback(setattr, module, "training", module.training)
        stack.enter_context(torch.no_grad())
        model.train(False)
        total = acc = n = 0
        for xb, yb in loader:
            out = model(xb)
            k = xb.shape[0]
            total += loss_fn(out, yb).item() * k
            acc += (out.max(dim=1).indices == yb).float().mean().item() * k
            n += k
        return total / n, acc / n
