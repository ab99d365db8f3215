# mistakes: strips-inner-names, own-rng, no-barrier
# lines: 12, 16, 19
# hidden:
import torch


def rank_zero_checkpoint(path, ddp, opt, dist) -> None:
    rank = dist.get_rank()
    world = dist.get_world_size()

    def strip_prefix(state):
        return {key.replace("module.", ""): value for key, value in state.items()}

    def collect_rng():
        mine = torch.get_rng_state()
        return [mine.clone() for _ in range(world)]

    rng = collect_rng()
    dist.barrier()
    if rank == 0:
        torch.save(
            {
                "model": strip_prefix(ddp.state_dict()),
                "optimizer": opt.state_dict(),
                "rng": rng,
            },
            path,
        )
