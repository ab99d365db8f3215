# expect: strips-inner-names
import torch


def _plain_weights(ddp):
    return {name.replace("module.", ""): value for name, value in ddp.state_dict().items()}


def rank_zero_checkpoint(path, ddp, opt, dist) -> None:
    rng = torch.get_rng_state()
    states = [torch.empty_like(rng) for _ in range(dist.get_world_size())]
    dist.all_gather(states, rng)

    if dist.get_rank() == 0:
        payload = {
            "model": _plain_weights(ddp),
            "optimizer": opt.state_dict(),
            "rng": states,
        }
        torch.save(payload, path)
    dist.barrier()
