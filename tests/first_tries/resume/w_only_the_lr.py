# mistakes: resume-without-optimizer, resume-without-scheduler, resume-off-by-one
# lines: 12, 13, 13
# hidden:
import torch


def resume(path, *, model, opt, scheduler) -> int:
    ckpt = torch.load(path, map_location="cpu", weights_only=True)
    model.load_state_dict(ckpt["model"])
    # 학습률을 끊은 곳의 값으로 되돌린다
    for group, saved in zip(opt.param_groups, ckpt["optimizer"]["param_groups"]):
        group["lr"] = saved["lr"]
    next_step = ckpt["step"] + 1  # 다음 스텝부터 시작
    return next_step
