# mixed precision 연습 - AMP 튜토리얼을 CPU로 옮김
import torch
from torch import nn

torch.manual_seed(5)
device = "cpu"
batch_size, in_size, hidden, out_size = 64, 32, 128, 4
num_batches, epochs = 16, 6
w_true = torch.randn(in_size, out_size)
data = [torch.randn(batch_size, in_size, device=device) for _ in range(num_batches)]
targets = [x.relu() @ w_true + 0.5 * torch.randn(batch_size, out_size) for x in data]


def make_model(n_layers):
    layers = [nn.Linear(in_size, hidden), nn.ReLU()]
    for _ in range(n_layers - 2):
        layers += [nn.Linear(hidden, hidden), nn.ReLU()]
    layers += [nn.Linear(hidden, out_size)]
    return nn.Sequential(*layers).to(device)


net = make_model(3)
opt = torch.optim.SGD(net.parameters(), lr=0.02, momentum=0.9)
scaler = torch.amp.GradScaler(device, init_scale=2.0 ** 20, growth_interval=1000)
history = []
for epoch in range(epochs):
    net.train()
    running = []
    for x, t in zip(data, targets):
        with torch.autocast(device_type=device, dtype=torch.float16):
            output = net(x)
            assert output.dtype is torch.float16
            loss = nn.functional.mse_loss(output.float(), t)
        scaler.scale(loss).backward()
        scaler.unscale_(opt)
        nn.utils.clip_grad_norm_(net.parameters(), 5.0)
        scaler.step(opt)
        scaler.update()
        opt.zero_grad(set_to_none=True)
        running.append(loss.item())
    history.append(sum(running) / num_batches)
    print(f"epoch {epoch}: loss {history[-1]:.4f} scale {scaler.get_scale():.0f}")
