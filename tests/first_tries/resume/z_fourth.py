# mistakes: resume-without-scheduler
# lines: 14
# hidden:
import torch


def _되살리기(상태, 짝):
    for 이름, 객체 in 짝:
        객체.load_state_dict(상태[이름])


def resume(path, *, model, opt, scheduler) -> int:
    checkpoint = torch.load(path, weights_only=True)
    _되살리기(checkpoint, [("model", model), ("optimizer", opt)])
    return checkpoint["step"]
