# The state is suddenly wider than the solution's: comparing must not break on it.
import torch


def first(model, opt, xb):
    for parameter in model.parameters():
        parameter.data = torch.zeros(7, 3, dtype=parameter.dtype)
    opt.step()
    return 0.0
