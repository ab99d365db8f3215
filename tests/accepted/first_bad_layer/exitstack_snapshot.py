from contextlib import ExitStack, contextmanager

import torch
from torch import nn


@contextmanager
def _untouched(model):
    """들어올 때의 모드, 텐서, 난수를 나갈 때 되돌린다."""
    rng = torch.get_rng_state()
    modes = [(m, m.training) for m in model.modules()]
    slots = [(m, dict(m._buffers)) for m in model.modules()]
    tensors = [(t, t.detach().clone()) for t in [*model.parameters(), *model.buffers()]]
    grads = [(p, p.grad, None if p.grad is None else p.grad.clone()) for p in model.parameters()]
    try:
        yield
    finally:
        with torch.no_grad():
            for m, b in slots:
                m._buffers.update(b)
            for t, old in tensors:
                t.copy_(old)
            for p, g, old in grads:
                p.grad = g
                if g is not None:
                    g.copy_(old)
        for m, mode in modes:
            m.training = mode
        torch.set_rng_state(rng)


def first_bad_layer(model: nn.Module, batch: torch.Tensor) -> str | None:
    culprit: list[str] = []

    def spy(name):
        def hook(_module, args, kwargs, out):
            x = args[0] if args else next(iter(kwargs.values()))
            if not culprit and bool(x.isfinite().all()) and not bool(out.isfinite().all()):
                culprit.append(name)

        return hook

    with ExitStack() as stack:
        stack.enter_context(_untouched(model))
        for name, m in model.named_modules():
            if next(m.children(), None) is None:
                handle = m.register_forward_hook(spy(name), with_kwargs=True)
                stack.callback(handle.remove)
        try:
            model(batch)
        except Exception:
            if not culprit:
                raise
    return culprit[0] if culprit else None
