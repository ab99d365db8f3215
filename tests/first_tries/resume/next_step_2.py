# mistakes: resume-without-scheduler, resume-off-by-one, forces-eval-mode
# lines: 10, 12, 9
import torch


def resume(path, *, model, opt, scheduler) -> int:
    ckpt = torch.load(path, weights_only=True)
    model.load_state_dict(ckpt["model"])
    model.eval()  # 불러온 뒤에는 eval
    opt.load_state_dict(ckpt["optimizer"])
    # 다음 스텝부터 시작
    return ckpt["step"] + 1
