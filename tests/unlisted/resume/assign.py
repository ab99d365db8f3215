# mistakes: assign=True로 매개변수를 새 텐서로 바꿔, 옵티마이저가 옛 텐서를 계속 업데이트
# lines: 8
import torch


def resume(path, *, model, opt, scheduler) -> int:
    saved = torch.load(path, weights_only=True)
    model.load_state_dict(saved["model"], assign=True)
    opt.load_state_dict(saved["optimizer"])
    scheduler.load_state_dict(saved["scheduler"])
    return saved["step"]
