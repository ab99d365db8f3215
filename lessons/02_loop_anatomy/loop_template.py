"""빈 학습 루프: 빈칸 13개를 채우면 내 모델을 내 데이터로 학습할 수 있습니다.

`...  # 빈칸 N`을 지우고 그 자리에 한 줄이나 몇 줄을 씁니다. 줄의 순서는 이미 맞습니다.
레슨 02에서 쓴 TrainConfig, seed_everything, warmup_cosine, BestCheckpoint를 아래에 붙여 넣습니다.
그 코드에 필요한 import 줄도 함께 옮깁니다.
검증은 분류의 정확도로 합니다. 다른 문제라면 손실과 검증 점수를 바꿉니다.
"""

import torch
from torch.nn import functional as F

# 여기에 TrainConfig, seed_everything, warmup_cosine, BestCheckpoint


def run(model, train_loader, val_loader, cfg, *, device="cpu", checkpoint_path="best.pt"):
    """cfg대로 학습하고, 가장 좋았던 순간을 checkpoint_path에 저장하고, 가장 높은 검증 정확도를 돌려줍니다."""
    # 1. 시드를 정합니다. 이 아래에서 뽑는 난수를 정합니다. 초기 가중치와 섞는 순서까지 같게 다시 학습하려면,
    #    모델과 로더를 만들기 전에도 시드를 정합니다
    ...  # 빈칸 1

    # 2. 옵티마이저. 모델을 장치로 옮긴 다음에 만듭니다. float16이면 GradScaler도 여기서 만듭니다
    model.to(device)
    opt = ...  # 빈칸 2

    # 3. 스케줄러. 에폭이 아니라 스텝을 셉니다
    scheduler = ...  # 빈칸 3

    # 4. 가장 좋은 순간을 남길 체크포인트
    checkpoint = ...  # 빈칸 4

    best, step = 0.0, 0
    for epoch in range(cfg.epochs):
        # 5. 학습 모드. 지난 에폭의 검증이 바꿔 놓았을 수 있습니다
        ...  # 빈칸 5

        for xb, yb in train_loader:
            xb, yb = xb.to(device), yb.to(device)
            # 6. 지난 배치의 그레이디언트를 지웁니다
            ...  # 빈칸 6
            # 7. 순전파와 손실. 혼합 정밀도이면 여기까지만 autocast로 감쌉니다
            loss = ...  # 빈칸 7
            # 8. 역전파. float16이면 스케일러로 손실에 배율을 곱합니다
            ...  # 빈칸 8
            # 9. 클리핑. 배율을 곱했으면 먼저 되돌립니다
            ...  # 빈칸 9
            # 10. 업데이트. 배율을 곱했으면 scaler.step과 scaler.update입니다
            ...  # 빈칸 10
            # 11. 스케줄러로 다음 스텝의 학습률을 정합니다
            ...  # 빈칸 11
            step += 1

        # 12. 검증 정확도. 평가 모드, no_grad(), 모든 샘플입니다
        accuracy = ...  # 빈칸 12

        # 13. 지금까지의 정확도 가운데 가장 높으면 저장합니다
        ...  # 빈칸 13
        best = max(best, accuracy)
        print(f"에폭 {epoch + 1}: 검증 정확도 {accuracy:.3f}, 학습률 {opt.param_groups[0]['lr']:.2e}")
    return best
