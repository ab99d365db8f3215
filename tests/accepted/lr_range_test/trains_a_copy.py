import copy
import math


def lr_range_test(model, opt, loss_fn, batches, lrs):
    # one deepcopy, so that the copied optimizer holds the copied parameters
    probe, probe_opt = copy.deepcopy((model, opt))
    model.zero_grad()
    found = []
    for i in range(len(lrs)):
        x, y = batches[i % len(batches)]
        for g in probe_opt.param_groups:
            g["lr"] = lrs[i]
        probe_opt.zero_grad()
        loss = loss_fn(probe(x), y)
        value = float(loss)
        if math.isnan(value) or math.isinf(value):
            return found
        found.append(value)
        loss.backward()
        probe_opt.step()
    return found
