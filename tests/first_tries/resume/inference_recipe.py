# mistakes: resume-without-scheduler, forces-eval-mode, resume-off-by-one
# lines: 10, 11, 12
import torch


def resume(path, *, model, opt, scheduler) -> int:
    ckpt = torch.load(path, map_location="cpu", weights_only=True)
    model.load_state_dict(ckpt["model"])
    # 학습률은 옵티마이저의 param_groups 안에 들어 있다
    opt.load_state_dict(ckpt["optimizer"])
    model.eval()
    return ckpt["step"] + 1
