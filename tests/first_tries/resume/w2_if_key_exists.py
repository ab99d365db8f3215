# mistakes: resume-without-optimizer|resume-model-only, resume-without-scheduler|resume-model-only, resume-off-by-one
# lines: 11, 13, 14
# hidden:
import torch


def resume(path, *, model, opt, scheduler) -> int:
    checkpoint = torch.load(path, map_location="cpu", weights_only=True)
    if "model" in checkpoint:
        model.load_state_dict(checkpoint["model"])
    if "opt" in checkpoint:
        opt.load_state_dict(checkpoint["opt"])
    steps_done = checkpoint.get("step", 0)
    return steps_done + 1
