# mistakes: resume-without-optimizer, forces-eval-mode, returns-scheduler-epoch
# lines: 11, 12, 13
import torch


def resume(path, *, model, opt, scheduler) -> int:
    """체크포인트를 읽어서 이어서 학습할 준비를 합니다."""
    ckpt = torch.load(path, map_location="cpu")

    model.load_state_dict(ckpt["model"])
    scheduler.load_state_dict(ckpt["scheduler"])
    model.eval()
    return scheduler.last_epoch
