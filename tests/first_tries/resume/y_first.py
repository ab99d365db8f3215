# mistakes: resume-off-by-one
# lines: 13
# hidden:
import torch


def resume(path, *, model, opt, scheduler) -> int:
    saved = torch.load(path, map_location="cpu", weights_only=True)
    targets = {"model": model, "optimizer": opt, "scheduler": scheduler}
    for key, obj in targets.items():
        obj.load_state_dict(saved[key])
    # 저장한 스텝은 끝났으므로 그다음부터
    return saved["step"] + 1
