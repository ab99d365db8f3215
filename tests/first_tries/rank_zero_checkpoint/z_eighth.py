# mistakes: no-barrier
# lines: 13
# hidden:
import torch


def rank_zero_checkpoint(path, ddp, opt, dist) -> None:
    my_rng = torch.get_rng_state()
    all_rng = [torch.empty_like(my_rng) for _ in range(dist.get_world_size())]
    dist.all_gather(all_rng, my_rng)

    # 모두 모일 때까지 기다린다
    dist.barrier()
    if dist.get_rank() == 0:
        checkpoint = {
            "model": ddp.module.state_dict(),
            "optimizer": opt.state_dict(),
            "rng": all_rng,
        }
        torch.save(checkpoint, path)
