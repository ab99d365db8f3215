import torch


def resume(path, *, model, opt, scheduler):
    ckpt = torch.load(path, map_location="cpu")
    own = model.state_dict()
    with torch.no_grad():
        for name, value in ckpt["model"].items():
            own[name].copy_(value)
    opt.load_state_dict(ckpt["optimizer"])
    scheduler.load_state_dict(ckpt["scheduler"])
    step = ckpt["step"]
    return step
