import torch


def adamw_step_(params, grads, state, *, lr, betas=(0.9, 0.999), eps=1e-8, weight_decay=0.01) -> None:
    # One optimizer for each parameter, filled from the state and read back
    for number, grad in enumerate(grads):
        if grad is None:
            continue
        param = params[number]
        shown = torch.nn.Parameter(param.detach())  # shares the memory
        shown.grad = grad.detach().clone()
        opt = torch.optim.AdamW([shown], lr=lr, betas=betas, eps=eps, weight_decay=weight_decay)
        if number in state:
            kept = state[number]
            opt.state[shown] = {
                "step": torch.tensor(float(kept["step"])),
                "exp_avg": kept["exp_avg"],
                "exp_avg_sq": kept["exp_avg_sq"],
            }
        opt.step()
        after = opt.state[shown]
        state[number] = {
            "step": int(after["step"]),
            "exp_avg": after["exp_avg"],
            "exp_avg_sq": after["exp_avg_sq"],
        }
