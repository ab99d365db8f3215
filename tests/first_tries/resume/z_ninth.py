# mistakes: missing-buffers, resume-last-epoch-only, resume-off-by-one
# lines: 12, 18, 20
# hidden:
import torch


def resume(path, *, model, opt, scheduler) -> int:
    checkpoint = torch.load(path, map_location="cpu", weights_only=True)

    def restore_weights(saved):
        with torch.no_grad():
            for name, p in model.named_parameters():
                p.copy_(saved[name])

    restore_weights(checkpoint["model"])
    opt.load_state_dict(checkpoint["optimizer"])
    # 스케줄러는 몇 번째였는지만 알면 된다
    scheduler.last_epoch = checkpoint["scheduler"]["last_epoch"]
    # 다음 스텝부터 시작
    return checkpoint["step"] + 1
