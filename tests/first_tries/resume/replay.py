# mistakes: replays-scheduler, forces-eval-mode
# lines: 12, 9
import torch


def resume(path, *, model, opt, scheduler) -> int:
    state = torch.load(path)
    model.load_state_dict(state["model"])
    model.eval()
    opt.load_state_dict(state["optimizer"])
    # 스케줄러를 저장한 자리까지 돌린다
    for _ in range(state["step"]):
        scheduler.step()
    return state["step"]
