import copy

import numpy as np
from torch.optim.lr_scheduler import LRScheduler


class Listed(LRScheduler):
    def __init__(self, opt, lrs):
        self.lrs = [*lrs, 0.0]
        super().__init__(opt)

    def get_lr(self):
        lr = self.lrs[self.last_epoch]
        return [lr for _ in self.optimizer.param_groups]


def lr_range_test(model, opt, loss_fn, batches, lrs):
    before = copy.deepcopy(model.state_dict()), copy.deepcopy(opt.state_dict())

    def restore():
        model.load_state_dict(before[0])
        opt.load_state_dict(before[1])
        model.zero_grad(set_to_none=False)

    try:
        scheduler = Listed(opt, lrs)
        losses = []
        n = 0
        while n < len(lrs):
            model.zero_grad()
            loss = loss_fn(model(batches[n % len(batches)][0]), batches[n % len(batches)][1])
            if not np.isfinite(loss.item()):
                break
            losses.append(loss.item())
            loss.backward()
            opt.step()
            scheduler.step()
            n += 1
    except BaseException:
        restore()
        raise
    restore()
    return losses
