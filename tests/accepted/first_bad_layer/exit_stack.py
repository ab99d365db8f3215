import contextlib
import math

import torch


def finite(x):
    return math.isfinite(x.abs().max().item()) and not x.isnan().any()


def first_bad_layer(model, batch):
    calls = []
    clones = [(buffer, buffer.clone()) for buffer in model.buffers()]
    with contextlib.ExitStack() as stack:
        for name, layer in model.named_modules():
            if next(layer.children(), None) is None:
                handle = layer.register_forward_hook(
                    lambda _, inputs, output, name=name: calls.append((name, finite(inputs[0]), finite(output)))
                )
                stack.callback(handle.remove)
        stack.enter_context(torch.random.fork_rng())
        stack.enter_context(torch.no_grad())
        stack.callback(lambda: [buffer.copy_(clone) for buffer, clone in clones])
        failure = None
        try:
            model(batch)
        except Exception as raised:
            failure = raised
    guilty = [name for name, before, after in calls if before and not after]
    if guilty:
        return guilty[0]
    if failure:
        raise failure
    return None
