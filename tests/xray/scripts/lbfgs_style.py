"""Neural-style shape: LBFGS over an image, closures, a frozen network, no model parameters trained."""
import torch
import torch.nn as nn

torch.manual_seed(0)
vgg = nn.Sequential(nn.Conv2d(3, 8, 3), nn.ReLU(), nn.Conv2d(8, 12, 3), nn.ReLU()).eval()
for p in vgg.parameters():
    p.requires_grad_(False)
content, style = torch.rand(1, 3, 24, 24), torch.rand(1, 3, 24, 24)


def gram(f):
    b, c, h, w = f.shape
    f = f.view(c, h * w)
    return f @ f.t() / (c * h * w)


with torch.no_grad():
    goal_content, goal_style = vgg(content), gram(vgg(style))
image = content.clone().requires_grad_(True)
optimizer = torch.optim.LBFGS([image], max_iter=6)
run = [0]
while run[0] < 60:
    def closure():
        with torch.no_grad():
            image.clamp_(0, 1)
        optimizer.zero_grad()
        feats = vgg(image)
        loss = nn.functional.mse_loss(feats, goal_content) + 1e3 * nn.functional.mse_loss(gram(feats), goal_style)
        loss.backward()
        run[0] += 1
        if run[0] % 20 == 0:
            print(run[0], loss.item())
        return loss

    optimizer.step(closure)
