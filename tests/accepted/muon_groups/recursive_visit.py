from torch import nn


def _outer(module: nn.Module, target: nn.Module, inside: bool, visited: set) -> list:
    """임베딩의 가중치와 target 안의 매개변수를 모은다."""
    inside = inside or module is target
    if (id(module), inside) in visited:
        return []
    visited.add((id(module), inside))
    mine = list(module._parameters.values()) if inside else []
    if isinstance(module, nn.Embedding):
        mine.append(module.weight)
    for child in module.children():
        mine += _outer(child, target, inside, visited)
    return [p for p in mine if p is not None]


def muon_groups(model: nn.Module, *, head: str = "head") -> tuple[list, list]:
    try:
        target = next(m for n, m in model.named_modules() if n == head)
    except StopIteration:
        raise KeyError(head) from None
    outer = _outer(model, target, False, set())
    groups: tuple[list, list] = ([], [])
    for p in model.parameters():
        if p.requires_grad:
            to_adamw = len(p.shape) != 2 or any(p is q for q in outer)
            groups[to_adamw].append(p)
    return groups
