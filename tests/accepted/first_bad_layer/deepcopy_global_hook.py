import copy

import torch
from torch import nn
from torch.nn.modules.module import register_module_forward_hook


class _Found(Exception):
    pass


def first_bad_layer(model: nn.Module, batch: torch.Tensor) -> str | None:
    """복사본을 돌리고, 모든 모듈에 걸리는 전역 훅으로 본다. 찾으면 바로 멈춘다."""
    twin = copy.deepcopy(model)
    names = {m: n for n, m in twin.named_modules() if not any(True for _ in m.children())}
    where = None

    def look(module, args, out):
        nonlocal where
        if where is None and module in names and args[0].isfinite().all() and not out.isfinite().all():
            where = names[module]
            raise _Found

    handle = register_module_forward_hook(look)
    state = torch.random.get_rng_state()
    try:
        with torch.no_grad():
            twin(batch)
    except Exception:
        if where is None:
            raise
    finally:
        handle.remove()
        torch.random.set_rng_state(state)
    return where
