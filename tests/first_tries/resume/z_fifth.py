# mistakes: replays-scheduler, resume-off-by-one
# lines: 19, 21
# hidden:
import torch


def _fast_forward(scheduler, times):
    """저장할 때의 자리까지 스케줄러를 감는다."""
    done = 0
    while done < times:
        scheduler.step()
        done += 1


def resume(path, *, model, opt, scheduler) -> int:
    saved = torch.load(path, map_location="cpu", weights_only=True)
    model.load_state_dict(saved["model"])
    opt.load_state_dict(saved["optimizer"])
    _fast_forward(scheduler, saved["step"])
    # 다음에 할 스텝부터 이어 간다
    return saved["step"] + 1
