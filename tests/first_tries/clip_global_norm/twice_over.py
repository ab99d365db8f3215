# mistakes: exhausts-generator, scales-up, replaces-gradient, returns-tensor
# lines: 8, 20, 20, 21
import torch


def clip_global_norm(params, max_norm) -> float:
    squares = torch.tensor(0.0)
    for p in params:
        if p.grad is None:
            continue
        squares = squares + p.grad.detach().pow(2).sum()
    total_norm = squares.sqrt()

    if torch.isnan(total_norm) or torch.isinf(total_norm):
        raise RuntimeError(f"gradient norm is {total_norm}")

    clip_coef = max_norm / (total_norm + 1e-6)
    for p in params:
        if p.grad is not None:
            p.grad = p.grad * clip_coef
    return total_norm
