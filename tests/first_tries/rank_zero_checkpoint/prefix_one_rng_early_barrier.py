# mistakes: saves-wrapper, own-rng, no-barrier
# lines: 12, 14, 9
# hidden:
import torch


def rank_zero_checkpoint(path, ddp, opt, dist) -> None:
    # 모두 여기까지 올 때까지 기다린다
    dist.barrier()
    if dist.get_rank() == 0:
        checkpoint = {
            "model": ddp.state_dict(),
            "optimizer": opt.state_dict(),
            "rng": [torch.get_rng_state()],
        }
        torch.save(checkpoint, path)
