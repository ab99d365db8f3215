# mistakes: accepts-any-rank, pads-once, fixed-shares
# lines: 9, 19, 23
# hidden:
import math
import random


def shard_indices(n, rank, world, *, seed=0, epoch=0, drop_last=False) -> list[int]:
    if rank < 0 or rank > world:
        raise ValueError("rank가 범위를 벗어났습니다")
    if n == 0:
        return []

    def trimmed(numbers):
        return numbers[: n // world * world]

    def padded(numbers):
        target = math.ceil(n / world) * world
        return numbers + numbers[: target - n]

    numbers = list(range(n))
    numbers = trimmed(numbers) if drop_last else padded(numbers)
    mine = numbers[rank::world]
    # 전역 난수를 쓰지 않으려고 따로 만든다
    random.Random(f"{seed}/{epoch}").shuffle(mine)
    return mine
