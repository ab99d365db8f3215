from torch import nn


def muon_groups(model, *, head="head"):
    """Goes by names, but by all the names that a parameter has."""
    modules = dict(model.named_modules(remove_duplicate=False))
    if head not in modules:
        raise KeyError(f"no module is called {head}")
    tables = {name for name, module in modules.items() if isinstance(module, nn.Embedding)}
    names = {}
    for name, p in model.named_parameters(remove_duplicate=False):
        names.setdefault(p, []).append(name)
    lists = [], []
    for p, its in names.items():
        outside = any(name.startswith(head + ".") or name.rpartition(".")[0] in tables for name in its)
        if p.requires_grad:
            lists[outside or p.ndim != 2].append(p)
    return lists
