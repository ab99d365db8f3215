import torch


def resume(path, *, model, opt, scheduler):
    modes = {module: module.training for module in model.modules()}
    saved = torch.load(path, map_location="cpu", weights_only=True)
    model.load_state_dict(saved["model"])
    params = [p for group in opt.param_groups for p in group["params"]]
    numbers = [n for group in saved["optimizer"]["param_groups"] for n in group["params"]]
    opt.state.clear()
    for p, n in zip(params, numbers):
        opt.state[p] = dict(saved["optimizer"]["state"].get(n, {}))
    for group, before in zip(opt.param_groups, saved["optimizer"]["param_groups"]):
        group.update({key: value for key, value in before.items() if key != "params"})
    scheduler.load_state_dict(saved["scheduler"])
    for module, mode in modes.items():
        module.training = mode
    return saved["step"]
