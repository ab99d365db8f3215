"""Names of facts in Korean that depend on a value."""


def called_with(argument: str, value: float) -> str:
    """`accum_steps=0`으로 불렀을 때: the particle follows how the last digit is read (영, 삼, 육: 으로)."""
    text = f"{argument}={value}"
    return f"`{text}`{'으로' if text[-1] in '036' else '로'} 불렀을 때"
