from dataclasses import dataclass, field

from torch import nn


@dataclass
class Roles:
    owner: dict = field(default_factory=dict)  # id -> "muon" 또는 "adamw"

    def claim(self, params, role):
        for p in params:
            self.owner[id(p)] = role

    def pick(self, model, role):
        return [p for p in model.parameters() if self.owner.get(id(p)) == role]


def muon_groups(model: nn.Module, *, head: str = "head") -> tuple[list, list]:
    found = [m for n, m in model.named_modules() if n == head]
    if not found:
        raise KeyError(f"{head!r}라는 모듈이 없습니다")
    roles = Roles()
    # 뒤에 오는 것이 앞에 온 것을 덮어쓴다
    roles.claim(model.parameters(), "adamw")
    roles.claim((p for p in model.parameters() if p.ndim == 2), "muon")
    for m in model.modules():
        if isinstance(m, nn.Embedding):
            roles.claim([m.weight], "adamw")
    roles.claim(found[0].parameters(), "adamw")
    roles.claim((p for p in model.parameters() if not p.requires_grad), "frozen")
    return roles.pick(model, "muon"), roles.pick(model, "adamw")
