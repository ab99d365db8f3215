import copy
import math

import torch


def lr_range_test(model, opt, loss_fn, batches, lrs):
    tensors = [*model.parameters(), *model.buffers()]
    kept = [t.detach().clone() for t in tensors]
    rates = [group["lr"] for group in opt.param_groups]
    held = {p: copy.deepcopy(state) for p, state in opt.state.items()}
    params = [p for p in model.parameters() if p.requires_grad]
    losses = []
    try:
        position = 0
        for lr in lrs:
            if position == len(batches):
                position = 0
            xb, yb = batches[position]
            position += 1
            for group in opt.param_groups:
                group.update(lr=lr)
            loss = loss_fn(model(xb), yb)
            if not -math.inf < loss.item() < math.inf:
                return losses
            for p, g in zip(params, torch.autograd.grad(loss, params)):
                p.grad = g
            opt.step()
            losses += [loss.item()]
        return losses
    finally:
        with torch.no_grad():
            for t, k in zip(tensors, kept):
                t.copy_(k)
        for group, rate in zip(opt.param_groups, rates):
            group["lr"] = rate
        opt.state.clear()
        opt.state.update(held)
        for p in model.parameters():
            p.grad = None
