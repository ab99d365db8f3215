# mistakes: 되살린 다음 학습률을 스케줄러의 처음 학습률로 되돌려 놓음
# lines: 12
import torch


def resume(path, *, model, opt, scheduler):
    saved = torch.load(path, map_location="cpu", weights_only=True)
    model.load_state_dict(saved["model"])
    opt.load_state_dict(saved["optimizer"])
    scheduler.load_state_dict(saved["scheduler"])
    for group, lr in zip(opt.param_groups, scheduler.base_lrs):
        group["lr"] = lr
    return saved["step"]
