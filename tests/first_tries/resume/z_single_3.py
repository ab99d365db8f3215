# mistakes: keeps-new-rates
# lines: 13
# hidden:
import torch


def resume(path, *, model, opt, scheduler) -> int:
    ckpt = torch.load(path, map_location="cpu", weights_only=True)
    model.load_state_dict(ckpt["model"])
    configured = [group["lr"] for group in opt.param_groups]
    opt.load_state_dict(ckpt["optimizer"])
    for group, lr in zip(opt.param_groups, configured):
        group["lr"] = lr
    scheduler.load_state_dict(ckpt["scheduler"])
    return ckpt["step"]
