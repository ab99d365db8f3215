# mistakes: missing-buffers, resume-without-optimizer, steps-scheduler-again
# lines: 11, 16, 19
# hidden:
import torch


def resume(path, *, model, opt, scheduler) -> int:
    saved = torch.load(path, map_location="cpu", weights_only=True)

    with torch.no_grad():
        for name, param in model.named_parameters():
            param.copy_(saved["model"][name])

    # 학습률을 되살린다
    for group, old in zip(opt.param_groups, saved["optimizer"]["param_groups"]):
        group["lr"] = old["lr"]

    scheduler.load_state_dict(saved["scheduler"])
    scheduler.step()  # 다음 스텝으로
    return saved["step"]
