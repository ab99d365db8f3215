# mistakes: resume-without-scheduler, resume-off-by-one
# lines: 9, 10
import torch


def resume(path, *, model, opt, scheduler) -> int:
    checkpoint = torch.load(path, map_location="cpu")
    model.load_state_dict(checkpoint["model"])
    opt.load_state_dict(checkpoint["optimizer"])
    start_step = checkpoint["step"] + 1
    return start_step
