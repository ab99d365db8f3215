# mistakes: forces-eval-mode, resume-without-scheduler, resume-off-by-one
# lines: 9, 10, 11
import torch


def resume(path, *, model, opt, scheduler):
    checkpoint = torch.load(path, map_location="cpu", weights_only=True)
    model.load_state_dict(checkpoint["model"])
    model.eval()
    opt.load_state_dict(checkpoint["optimizer"])
    start_step = checkpoint["step"] + 1  # 다음 스텝부터
    return start_step
