"""How urgent a watch is among others, and how often one of each class is looked at (R24)."""

from typing import Literal

from tsuzuki.model.times import DAY, HOUR, MINUTE, Millis

Priority = Literal[1, 2, 3]
HOT: Priority = 1
WARM: Priority = 2
COLD: Priority = 3

CLASS_INTERVAL: dict[Priority, Millis] = {HOT: Millis(15 * MINUTE), WARM: Millis(4 * HOUR), COLD: DAY}
CLASS_NAME: dict[Priority, str] = {HOT: "hot", WARM: "warm", COLD: "cold"}


def why_class(priority: Priority) -> str:
    """Why a series is looked at then, where its class alone says when."""
    return f"the series is {CLASS_NAME[priority]}"
