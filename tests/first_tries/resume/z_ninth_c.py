# mistakes: resume-without-scheduler, resume-off-by-one
# lines: 10, 15
# hidden:
import torch


def resume(path, *, model, opt, scheduler) -> int:
    ckpt = torch.load(path, map_location="cpu", weights_only=True)

    targets = {"model": model, "optimizer": opt}
    for key, obj in targets.items():
        obj.load_state_dict(ckpt[key])

    # 다음 스텝부터 시작
    return ckpt["step"] + 1
