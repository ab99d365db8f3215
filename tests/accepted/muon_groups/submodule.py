import torch


def muon_groups(model, *, head="head"):
    try:
        last = model.get_submodule(head)
    except AttributeError:
        raise KeyError(head) from None
    tables = [m for m in model.modules() if isinstance(m, torch.nn.Embedding)]
    kept_out = [p for m in (last, *tables) for p in m.parameters()]

    def is_inner(p):
        return len(p.shape) == 2 and not any(p is other for other in kept_out)

    trained = list(filter(lambda p: p.requires_grad, model.parameters()))
    return [p for p in trained if is_inner(p)], [p for p in trained if not is_inner(p)]
