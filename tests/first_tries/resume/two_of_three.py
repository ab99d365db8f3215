# mistakes: resume-without-scheduler, resume-off-by-one
# lines: 10, 10
import torch


def resume(path, *, model, opt, scheduler) -> int:
    checkpoint = torch.load(path, weights_only=True)
    model.load_state_dict(checkpoint["model"])
    opt.load_state_dict(checkpoint["optimizer"])
    return checkpoint["step"] + 1        # 다음 스텝부터
