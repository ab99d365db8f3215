# mistakes: resume-last-epoch-only
# lines: 13
# hidden:
import torch


def resume(path, *, model, opt, scheduler) -> int:
    state = torch.load(path, map_location="cpu", weights_only=True)
    model.load_state_dict(state["model"])
    opt.load_state_dict(state["optimizer"])
    step = state["step"]
    # 스케줄러는 몇 번째 스텝인지만 알면 된다
    scheduler.last_epoch = step
    return step
