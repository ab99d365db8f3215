import copy
from functools import partial

import torch


def first_bad_layer(model, batch):
    names = []
    twin = copy.deepcopy(model)

    def note(name, _layer, inputs, output):
        if torch.isfinite(inputs[0]).all() and not torch.isfinite(output).all():
            names.append(name)

    for name, layer in twin.named_modules():
        if len(list(layer.modules())) == 1:
            layer.register_forward_hook(partial(note, name))
    state = torch.get_rng_state()
    try:
        twin(batch)
    except Exception:
        if names == []:
            raise
    finally:
        torch.set_rng_state(state)
    return next(iter(names), None)
