# %% [markdown]
r"""
# 파일은 하나만

모든 rank의 가중치(weight)는 같으니 파일은 rank 0 하나만 쓰면 됩니다. 그런데 다른 rank가 그 파일을 바로 다음 줄에서 읽습니다. 무엇을 읽을지 먼저 골라 보세요.

**예측.** 에폭(epoch)마다 rank 0이 체크포인트를 옆에 쓰고 다 쓴 다음 이름을 바꿉니다. 둘째 에폭이 끝난 뒤에는 기다리게 하는 코드가 없고, 두 rank 모두 곧바로 그 파일을 엽니다. rank 1은 어떻게 될까요?

- a: 파일이 다 쓰이지 않아 오류가 납니다.
- b: rank 0이 다 쓸 때까지 기다렸다가 둘째 에폭의 가중치를 읽습니다.
- c: 오류 없이 첫 에폭의 가중치를 읽습니다.
"""

# %% tags=["folded"]
# 준비: 라이브러리, 손글씨 숫자 분류기, 천천히 쓰는 체크포인트(save_slowly)
import tempfile
import time
from pathlib import Path

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel as DDP

from grader import check, clinic, drill, hint, microscope, predict, progress, reveal
from grader.experiments.several_processes.classifier import draw_batches, farthest, train, weights_of
from grader.experiments.several_processes.digits import make_model
from grader.experiments.several_processes.processes import RankError, run_ranks
from grader.experiments.several_processes.saving import checkpoint_of, save_slowly
from grader.plots import show_table

torch.set_num_threads(1)
folder = Path(tempfile.mkdtemp())

# %% tags=["predict"]
predict("05-16")


# %%
def save_and_reload(rank, world, seed):
    model = make_model(seed)
    ddp = DDP(model)
    opt = torch.optim.SGD(ddp.parameters(), lr=0.5)
    batches = draw_batches(10 * seed + rank, 40)
    path, seen = folder / f"{seed}.pt", []
    for epoch in [1, 2]:
        train(ddp, opt, batches[10 * epoch - 10 : 10 * epoch])
        seen.append(weights_of(model))  # 이 에폭이 끝났을 때의 가중치
        if rank == 0:
            save_slowly(model.state_dict(), path)  # 옆에 쓰고 이름을 바꿉니다
        if epoch == 1:
            dist.barrier()  # 모든 rank가 여기에 올 때까지 기다립니다
    model.load_state_dict(torch.load(path, weights_only=True))
    return [*seen, *go_on(ddp, opt, batches[20:])]


# %% tags=["folded"]
# 준비와 실행: 불러온 뒤 두 rank가 서로 기다린 다음 20스텝 더 학습합니다. 시드 6개
def go_on(ddp, opt, batches):
    dist.barrier()
    loaded = weights_of(ddp)
    train(ddp, opt, batches)
    return loaded, weights_of(ddp)


def six_seeds(rank, world):
    return [save_and_reload(rank, world, seed) for seed in range(6)]


reloaded = list(zip(*run_ranks(six_seeds), strict=True))

# %% tags=["folded"]
# 표와 확인: rank마다 읽은 것이 어느 에폭의 가중치인지
first_epoch, second_epoch, loaded_0, _ = reloaded[0][0]
loaded_1 = reloaded[0][1][2]
show_table(
    ["시드 0", "첫 에폭과의 차이", "둘째 에폭과의 차이"],
    [
        [f"rank {rank}이 읽은 가중치", farthest([read], first_epoch), farthest([read], second_epoch)]
        for rank, read in enumerate([loaded_0, loaded_1])
    ],
)
for (first, second, read_0, _), (_, _, read_1, _) in reloaded:
    assert farthest([read_0], second) == 0.0
    assert farthest([read_1], first) == 0.0
    assert farthest([first], second) > 0.1
reveal("05-16")

# %% [markdown]
r"""
## 1. 기다리지 않은 rank

약 9분 · ★★☆

옆에 쓰고 이름을 바꾸는 것은 반쪽 파일을 막아 줍니다. 그래서 오류조차 나지 않았습니다. 아직 이름을 바꾸지 않은 동안 `path`에 있는 것은 **지난 에폭의 온전한 파일**입니다.

이제 두 rank의 가중치가 다릅니다. 이 상태로 DDP 학습(training)을 20스텝 더 이어 갔습니다. DDP는 스텝(step)마다 그레이디언트(gradient)를 평균 냅니다.

**예측.** 20스텝 뒤에 두 rank의 가중치 차이는 어떻게 되었을까요? 옵티마이저(optimizer)는 모멘텀 없는 SGD입니다.

- a: 그대로입니다.
- b: 스텝마다 줄어듭니다. 같은 그레이디언트로 움직이기 때문입니다.
- c: 점점 커집니다. 두 rank가 서로 다른 곳에서 그레이디언트를 구하기 때문입니다.
"""

# %% tags=["predict"]
predict("05-17")

# %% tags=["folded"]
# 표와 확인: 불러온 직후와 20스텝 뒤의 차이, 시드 6개
gaps = [(rank_0[2] - rank_1[2], rank_0[3] - rank_1[3]) for rank_0, rank_1 in reloaded]
show_table(
    ["시드", "불러온 직후 가장 큰 차이", "20스텝 뒤", "그사이 바뀐 차이"],
    [
        [seed, f"{before.abs().max():.6f}", f"{after.abs().max():.6f}", f"{farthest([after], before):.0e}"]
        for seed, (before, after) in enumerate(gaps)
    ],
)
assert all(before.abs().max() > 0.1 for before, _ in gaps)
assert all(farthest([after], before) < 1e-14 for before, after in gaps)
reveal("05-17")

# %% [markdown]
r"""
DDP가 맞추는 것은 그레이디언트뿐입니다. 가중치는 **감쌀 때 한 번** rank 0의 것으로 맞추고, 그 뒤에는 같은 곳에서 출발했으니 같으리라고 믿습니다. 그래서 한 번 어긋나면, 감쇠가 없는 이 SGD에서는 끝까지 그만큼 어긋난 채로 갑니다. 손실은 두 rank에서 모두 내려갑니다.

`torch.save` 다음 줄에 모든 rank가 부르는 `dist.barrier()`를 두면 아무도 먼저 읽지 않습니다(같은 컴퓨터이거나 디스크를 함께 쓸 때의 이야기입니다). 그 줄을 `if rank == 0:` 안에 넣으면 어떻게 될까요? rank 1이 다른 일을 하는 동안 rank 0이 기다리게 합니다. 끝없이 기다리지 않도록 1초가 지나면 멈추게 해 두었습니다.
"""


# %%
def barrier_on_one_rank(rank, world):
    if rank == 0:
        dist.barrier()  # rank 1은 여기에 오지 않습니다
    else:
        time.sleep(2)


try:
    run_ranks(barrier_on_one_rank, seconds=1)
    message = "오류 없음"
except RankError as error:
    message = str(error)
print(message)

# %% tags=["folded"]
# 확인: 시간이 다 된 것은 rank 0입니다
assert message.startswith("rank 0: ")
assert "Timed out" in message or "timeout" in message.lower()

# %% [markdown]
r"""
정해 둔 시간이 없으면 gloo는 30분, nccl은 10분을 기다린 다음에야 멈춥니다. rank 0이 그보다 오래 저장하면, 제대로 쓴 `barrier()`에서도 멈춥니다. 집합 통신(collective)은 **모든 rank가 부르거나 아무도 부르지 않거나** 둘 가운데 하나입니다.

## 2. 이름 앞의 `module.`

약 5분 · ★☆☆

`ddp`도 `nn.Module`이라 `ddp.state_dict()`를 저장할 수 있습니다. 불러오는 쪽은 감싸지 않은 모델입니다. 이름이 맞지 않는다는 오류를 만나면 흔히 `strict=False`를 더합니다. 매개변수(parameter) 네 개 가운데 몇 개가 읽힐까요? 답을 하나 정해 두고 아래를 실행하세요.
"""


# %%
def wrapped_state(rank, world):
    return DDP(make_model(seed=0)).state_dict()


state = run_ranks(wrapped_state)[0]
model = make_model(seed=1)
before = weights_of(model)
found = model.load_state_dict(state, strict=False)
print("파일에 있는 이름:", list(state))
print("읽지 못한 이름:", found.missing_keys)
print("바뀐 가중치:", int((weights_of(model) != before).sum()), "개")

# %% tags=["folded"]
# 확인: 하나도 읽지 못했습니다
assert all(name.startswith("module.") for name in state)
assert len(found.missing_keys) == len(state) == 4
assert torch.equal(weights_of(model), before)

# %% [markdown]
r"""
`strict=False`는 맞는 이름만 읽고 나머지를 조용히 지나갑니다. 맞는 이름이 하나도 없으니 처음의 가중치로 평가하게 됩니다. 저장할 때 `ddp.module.state_dict()`를 쓰면 이런 일이 없습니다. `torch.compile`로 감싼 모델의 `_orig_mod.`도 같습니다.

## 3. rank마다의 난수

약 8분 · ★★☆

가중치와 옵티마이저의 상태는 모든 rank에서 같지만 **난수 상태는 다릅니다.** 드롭아웃(dropout)은 rank마다 다른 유닛을 꺼야 하므로, 시드(seed)를 rank마다 다르게 줍니다.

**예측.** 10스텝에서 저장하고 새 프로세스 둘에서 10스텝을 이어 갑니다. 그런데 rank 0의 난수 상태만 저장해 두 rank 모두 그것으로 시작합니다. 끊지 않고 20스텝을 간 학습과 비교하면 어떨까요?

- a: rank 0의 가중치는 비트까지 같고, rank 1만 다릅니다.
- b: 두 rank 모두 비트까지 같습니다. 그레이디언트를 평균 내기 때문입니다.
- c: 두 rank의 가중치는 서로 같지만, 끊지 않은 학습과는 다릅니다.
"""

# %% tags=["predict"]
predict("05-18")


# %%
def train_part(rank, world, seed, checkpoint, steps):
    model = make_model(seed, torch.nn.Dropout(0.2))
    ddp = DDP(model)
    opt = torch.optim.AdamW(ddp.parameters(), lr=0.01)
    torch.manual_seed(1000 * seed + rank)  # rank마다 다른 드롭아웃
    if checkpoint:
        model.load_state_dict(checkpoint["model"])
        opt.load_state_dict(checkpoint["optimizer"])
        torch.set_rng_state(checkpoint["rng"][rank])
    train(ddp, opt, draw_batches(10 * seed + rank, 20)[steps])
    return checkpoint_of(model, opt)  # "rng"에는 모든 rank의 난수 상태가 있습니다


# %% tags=["folded"]
# 실행: 끊지 않은 학습, rank마다의 난수 상태로 이은 것, rank 0의 것으로만 이은 것. 시드 6개
def train_parts(rank, world, checkpoints, steps):
    found = [train_part(rank, world, seed, checkpoints.get(seed), steps) for seed in range(6)]
    return dict(enumerate(found))


unbroken = run_ranks(train_parts, {}, slice(0, 20))[0]
halfway = run_ranks(train_parts, {}, slice(0, 10))[0]
only_rank_0 = {seed: {**saved, "rng": [saved["rng"][0]] * 2} for seed, saved in halfway.items()}
with_all_states = run_ranks(train_parts, halfway, slice(10, 20))
with_one_state = run_ranks(train_parts, only_rank_0, slice(10, 20))


def apart(first, second):
    """두 체크포인트의 가중치 가운데 가장 크게 다른 것의 차이입니다."""
    return max((first["model"][name] - second["model"][name]).abs().max().item() for name in first["model"])


# %% tags=["folded"]
# 표와 확인: 끊지 않은 학습과의 차이, 두 rank 사이의 차이 (시드 6개 가운데 가장 작은 것과 큰 것)
resume_rows = []
for name, (rank_0, rank_1) in [("rank마다", with_all_states), ("rank 0의 것만", with_one_state)]:
    from_unbroken = [apart(rank[seed], unbroken[seed]) for rank in (rank_0, rank_1) for seed in range(6)]
    between = [apart(rank_0[seed], rank_1[seed]) for seed in range(6)]
    resume_rows.append([name, f"{min(from_unbroken):.2g} ~ {max(from_unbroken):.2g}", max(between)])
    assert max(between) == 0.0
    assert (max(from_unbroken) == 0.0) if name == "rank마다" else (min(from_unbroken) > 0.01)
show_table(["저장한 난수 상태", "끊지 않은 학습과의 차이", "두 rank 사이의 차이"], resume_rows)
reveal("05-18")

# %% [markdown]
r"""
rank 1이 다른 유닛을 끄면 rank 1의 그레이디언트가 달라지고, 그 절반이 rank 0의 업데이트에도 들어옵니다. rank마다의 상태를 모두 저장하면 비트까지 이어집니다. 여기에서는 CPU로 학습하므로 `torch.get_rng_state()`면 됩니다. GPU에서 드롭아웃을 쓰면 `torch.cuda.get_rng_state()`도 rank마다 담아야 하고, 샘플러가 어디까지 읽었는지도 적어야 합니다.

### 연습. `rank_zero_checkpoint`

약 15분 · ★★☆

파일 하나에 모두 담습니다. 난수 상태는 rank마다 다르니 쓰기 전에 rank 0으로 모아야 합니다. 모으는 것도 집합 통신입니다. 부르는 순서는 모으기, (rank 0만) 쓰기, 기다리기입니다. 쓰다가 죽을 때에 대비하려면 [가장 좋은 체크포인트](../02_loop_anatomy/6_best_checkpoint.ipynb)에서처럼 옆에 다 쓰고 이름을 바꿉니다. 여기서는 채점하지 않습니다.
"""


# %% tags=["exercise:rank_zero_checkpoint"]
def rank_zero_checkpoint(path, ddp, opt, dist) -> None:
    """체크포인트를 path에 저장합니다. 모든 rank가 함께 부르고, 파일은 rank 0만 씁니다.

    ddp: `DistributedDataParallel`로 감싼 모델입니다.
    dist: `torch.distributed`입니다. 채점할 때는 같은 이름의 함수를 가진 객체이고, 그룹은 모든 rank가 든 것 하나뿐입니다.

    파일에는 `torch.save`로 쓴 dict가 있고, `weights_only=True`로 열립니다. 키는 셋입니다.
    "model": 감싸지 않은 모델의 state_dict. 이름 앞에 `module.`이 붙지 않습니다.
    "optimizer": 옵티마이저의 state_dict.
    "rng": rank마다의 `torch.get_rng_state()`를 rank의 순서대로 담은 리스트. 저장은 난수 상태를 바꾸지 않습니다.
    어느 rank도 파일이 다 쓰이기 전에 돌아오지 않습니다.
    """
    # BEGIN SOLUTION
    states = [None] * dist.get_world_size()
    dist.all_gather_object(states, torch.get_rng_state())
    if dist.get_rank() == 0:
        checkpoint = {"model": ddp.module.state_dict(), "optimizer": opt.state_dict(), "rng": states}
        torch.save(checkpoint, path)
    # 모든 rank가 부릅니다. rank 0만 부르면 rank 0이 영영 기다립니다
    dist.barrier()
    # END SOLUTION


# %% tags=["check"]
check(rank_zero_checkpoint)

# %% [markdown]
r"""
## 여기까지

이제 이런 것을 할 수 있습니다.

- rank 하나가 쓰고 모두가 기다리는 체크포인트를 씁니다.
- 어긋난 가중치를 DDP가 고쳐 주지 않는다는 것을 알고, 불러온 다음에 확인합니다.
- rank마다 다른 것과 같은 것을 가려, 비트까지 이어지게 저장합니다.

프로세스 둘로 하는 보통의 학습은 여기까지입니다. 쉬어 가기 좋습니다. [다음: 상태를 나누어 갖기](7_sharded_state.ipynb)에서는 모든 rank가 똑같이 들고 있던 옵티마이저의 상태를 나눕니다.
"""
