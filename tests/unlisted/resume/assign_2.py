# mistakes: assign=True가 매개변수를 새것으로 바꿔서 옵티마이저가 옛 매개변수를 들고 있음
# lines: 8
import torch


def resume(path, *, model, opt, scheduler) -> int:
    checkpoint = torch.load(path, map_location="cpu", weights_only=True)
    model.load_state_dict(checkpoint["model"], assign=True)
    opt.load_state_dict(checkpoint["optimizer"])
    scheduler.load_state_dict(checkpoint["scheduler"])
    return checkpoint["step"]
