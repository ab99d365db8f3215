# mistakes: strips-inner-names, own-rng
# lines: 8, 15
# hidden:
import torch


def _strip(sd):
    return {k.replace("module.", ""): v for k, v in sd.items()}


def rank_zero_checkpoint(path, ddp, opt, dist) -> None:
    world = dist.get_world_size()
    if dist.get_rank() == 0:
        out = dict(model=_strip(ddp.state_dict()), optimizer=opt.state_dict())
        out["rng"] = [torch.get_rng_state() for _ in range(world)]
        torch.save(out, path)
    dist.barrier()
