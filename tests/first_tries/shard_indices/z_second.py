# mistakes: accepts-any-rank, global-state, pads-once
# lines: 8, 14, 24
# hidden:
import torch


def shard_indices(n, rank, world, *, seed=0, epoch=0, drop_last=False) -> list[int]:
    if rank < 0 or rank > world:
        raise ValueError(f"rank {rank}는 0 이상 {world} 미만이어야 합니다")
    if n == 0:
        return []

    def shuffled():
        torch.manual_seed(seed * 1_000_003 + epoch)
        return torch.randperm(n).tolist()

    order = shuffled()
    if drop_last:
        usable = n // world * world
        order = order[:usable]
        return order[rank::world]
    else:
        missing = -n % world
        order = order + order[:missing]
        return order[rank::world]
