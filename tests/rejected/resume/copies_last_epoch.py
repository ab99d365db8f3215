# expect: resume-last-epoch-only
import torch


def resume(path, *, model, opt, scheduler) -> int:
    saved = torch.load(path, map_location="cpu", weights_only=True)

    model.load_state_dict(saved["model"])

    opt.load_state_dict(saved["optimizer"])
    scheduler.last_epoch = saved["scheduler"]["last_epoch"]
    return saved["step"]
