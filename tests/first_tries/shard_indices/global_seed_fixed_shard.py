# mistakes: global-state, fixed-shares, pads-once
# lines: 23, 21, 18
# hidden:
import torch


def shard_indices(n, rank, world, *, seed=0, epoch=0, drop_last=False) -> list[int]:
    if not 0 <= rank < world:
        raise ValueError("rank가 잘못되었습니다")
    if n == 0:
        return []
    indices = list(range(n))
    if drop_last:
        per = n // world
    else:
        per = (n + world - 1) // world
        need = per * world - n
        indices = indices + indices[:need]

    # 이 rank의 몫
    mine = indices[rank * per : (rank + 1) * per]

    torch.manual_seed(seed * 100003 + epoch)
    order = torch.randperm(len(mine)).tolist()
    return [mine[i] for i in order]
