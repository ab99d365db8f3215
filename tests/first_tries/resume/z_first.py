# mistakes: steps-scheduler-again
# lines: 14
# hidden:
import torch


def resume(path, *, model, opt, scheduler) -> int:
    saved = torch.load(path, map_location="cpu", weights_only=True)

    for obj, key in ((model, "model"), (opt, "optimizer"), (scheduler, "scheduler")):
        obj.load_state_dict(saved[key])

    # 되살린 학습률을 옵티마이저에 반영
    scheduler.step()

    return int(saved["step"])
