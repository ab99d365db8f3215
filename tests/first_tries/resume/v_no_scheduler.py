# mistakes: resume-without-scheduler, resume-off-by-one
# lines: 10, 12
# hidden:
import torch


def resume(path, *, model, opt, scheduler) -> int:
    ckpt = torch.load(path, weights_only=True, map_location="cpu")
    model.load_state_dict(ckpt["model"])
    opt.load_state_dict(ckpt["optimizer"])
    start = ckpt["step"] + 1  # 다음 스텝부터 시작
    return start
