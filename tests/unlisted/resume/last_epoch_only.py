# mistakes: 스케줄러의 상태를 되살리지 않고 last_epoch만 적음
# lines: 10
import torch


def resume(path, *, model, opt, scheduler):
    state = torch.load(path, map_location="cpu", weights_only=True)
    model.load_state_dict(state["model"])
    opt.load_state_dict(state["optimizer"])
    scheduler.last_epoch = state["step"]
    return state["step"]
