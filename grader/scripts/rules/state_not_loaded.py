"""`load_state_dict(strict=False)` that finds hardly any of its names in the module: the weights stay as they were."""

from collections.abc import Iterator

from grader.scripts.facts import Facts
from grader.scripts.findings import Finding, Rule, Said
from grader.scripts.states import StateLoaded

_LITTLE = 0.5


def _renamed(loaded: StateLoaded) -> int:
    """Return how many names would fit without a first part such as `module.`, or with one."""
    given, own = set(loaded.given), set(loaded.own)
    without = len({one.partition(".")[2] for one in given} & own)
    return max(without, len({one.partition(".")[2] for one in own} & given))


def _find(facts: Facts) -> Iterator[Finding]:
    for loaded in facts.of(StateLoaded):
        if loaded.kind != "module" or not loaded.given or not loaded.own:
            continue
        fitting = len(set(loaded.given) & set(loaded.own))
        renamed = _renamed(loaded)
        if fitting and (fitting >= _LITTLE * len(loaded.own) or renamed <= fitting):
            continue
        prefix = renamed > fitting
        yield Finding(
            place=loaded.place,
            severity="warning" if fitting else "bug",
            sentence=Said(
                "`strict=False`라서 오류는 없지만 체크포인트의 이름이 모델의 이름과 맞지 않아요. "
                + ("몇 개만 불러왔어요." if fitting else "아무것도 불러오지 못해서 모델은 그대로예요."),
                "With `strict=False` there is no error, but the checkpoint's names are not the module's: "
                + ("only a few were loaded." if fitting else "nothing was loaded."),
            ),
            evidence=Said(
                f"모델의 텐서 {len(loaded.own)}개 가운데 {fitting}개만 이름이 맞았어요. 모델은 `{loaded.own[0]}`, "
                f"체크포인트는 `{loaded.given[0]}`처럼 불러요.",
                f"{fitting} of the module's {len(loaded.own)} tensors were found by name: the module says "
                f"`{loaded.own[0]}`, the checkpoint `{loaded.given[0]}`.",
            ),
            mend=Said(
                "이름의 앞부분을 맞추세요: `{k.removeprefix('module.'): v for k, v in state.items()}`."
                if prefix
                else "이름을 맞추고, 돌아온 `missing_keys`를 확인하세요.",
                "Make the prefixes equal: `{k.removeprefix('module.'): v for k, v in state.items()}`."
                if prefix
                else "Make the names equal, and look at the `missing_keys` that come back.",
            ),
        )


RULE = Rule(
    id="state-not-loaded",
    severity="bug",
    title=Said("체크포인트가 불러와지지 않았어요", "The checkpoint is not loaded"),
    lesson="02_loop_anatomy/7_resume",
    find=_find,
    late=True,
)
