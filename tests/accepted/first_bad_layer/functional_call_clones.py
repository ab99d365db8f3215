import torch
from torch import nn
from torch.func import functional_call


def first_bad_layer(model: nn.Module, batch: torch.Tensor) -> str | None:
    """매개변수와 버퍼의 복제본을 끼워 실행하므로 원본은 바뀔 일이 없다."""
    clones: dict[int, torch.Tensor] = {}

    def clone(t):
        if id(t) not in clones:
            clones[id(t)] = t.detach().clone()
        return clones[id(t)]

    spare = {n: clone(t) for n, t in model.named_parameters(remove_duplicate=False)}
    spare |= {n: clone(t) for n, t in model.named_buffers(remove_duplicate=False)}
    leaves = {n: m for n, m in model.named_modules() if not m._modules}
    modes = {m: m.training for m in model.modules()}
    first: dict[str, str] = {}
    handles = [
        m.register_forward_hook(
            lambda _m, args, out, n=n: (
                first.setdefault("name", n)
                if torch.isfinite(args[0]).all() and not torch.isfinite(out).all()
                else None
            )
            and None
        )
        for n, m in leaves.items()
    ]
    try:
        with torch.random.fork_rng(devices=[]), torch.no_grad():
            functional_call(model, spare, (batch,), tie_weights=False)
    except Exception:
        if "name" not in first:
            raise
    finally:
        for h in handles:
            h.remove()
        for m, mode in modes.items():
            m.training = mode
    return first.get("name")
