# mistakes: saves-wrapper, no-barrier
# lines: 12, 12
# hidden:
import torch


def rank_zero_checkpoint(path, ddp, opt, dist):
    rng = torch.get_rng_state()
    states = [None] * dist.get_world_size()
    dist.all_gather_object(states, rng)
    if dist.get_rank() == 0:
        torch.save({"model": ddp.state_dict(), "optimizer": opt.state_dict(), "rng": states}, path)
