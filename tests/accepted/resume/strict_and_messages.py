import torch


def resume(path, *, model, opt, scheduler):
    ckpt = torch.load(str(path), weights_only=True)
    missing = [k for k in ("model", "optimizer", "scheduler", "step") if k not in ckpt]
    if missing:
        raise KeyError(missing)
    result = model.load_state_dict(ckpt["model"], strict=True)
    assert not result.missing_keys
    opt.load_state_dict(ckpt["optimizer"])
    scheduler.load_state_dict(ckpt["scheduler"])
    return ckpt["step"]
