# mistakes: saves-wrapper, no-barrier
# lines: 15, 12
# hidden:
import torch


def rank_zero_checkpoint(path, ddp, opt, dist) -> None:
    # 난수 상태는 rank마다 다르므로 모두 모은다
    states = [None] * dist.get_world_size()
    dist.all_gather_object(states, torch.get_rng_state())

    dist.barrier()  # 모두 여기까지 온 다음에 저장
    if dist.get_rank() == 0:
        ckpt = {
            "model": ddp.state_dict(),
            "optimizer": opt.state_dict(),
            "rng": states,
        }
        torch.save(ckpt, path)
