# mistakes: resume-without-scheduler, resume-off-by-one
# lines: 10, 12
# hidden:
import torch


def resume(path, *, model, opt, scheduler) -> int:
    checkpoint = torch.load(path, weights_only=True)
    model.load_state_dict(checkpoint["model"])
    opt.load_state_dict(checkpoint["optimizer"])
    # 다음에 할 스텝부터 이어 간다
    return checkpoint["step"] + 1
