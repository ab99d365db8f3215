import torch


def resume(path, *, model, opt, scheduler):
    with open(path, "rb") as f:
        state = torch.load(f, weights_only=False)
    scheduler.load_state_dict(state["scheduler"])
    opt.load_state_dict(state["optimizer"])
    model.load_state_dict(state["model"])
    return int(state["step"])
