# mistakes: resume-without-scheduler, resume-off-by-one
# lines: 15, 20
# hidden:
import torch


def _read(path):
    return torch.load(path, map_location="cpu", weights_only=True)


def resume(path, *, model, opt, scheduler) -> int:
    ckpt = _read(path)
    targets = [
        ("model", model),
        ("optimizer", opt),
    ]
    for key, target in targets:
        target.load_state_dict(ckpt[key])
    # 다음에 할 스텝부터
    return ckpt["step"] + 1
