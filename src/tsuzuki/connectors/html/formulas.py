"""Formulas as words: what MathML says, without its elements (R105)."""

import re

from tsuzuki.model.entities import unescaped

_PIECE = re.compile(r"<(/?)([A-Za-z-]++)[^<>]*+>|([^<]++)|<")
_JOINED = {"mfrac": "/", "msup": "^", "msub": "_", "munder": "_", "mover": "^"}
"""What stands between the two parts of an element."""
_BEFORE = {"msqrt": "√"}


def formula_text(markup: str) -> str:
    """The text of a formula on one line. What it says a second time, for programs, is left out."""
    words: list[str] = []
    joints: list[str] = []
    """For each element that is open, what is written before its second part; empty once it is there."""
    is_aside = ""
    for found in _PIECE.finditer(markup):
        closing, name, text = found[1], (found[2] or "").lower(), found[3]
        if is_aside:
            is_aside = "" if closing and name == is_aside else is_aside
        elif text:
            words.append(unescaped(text) if text.strip() else "")
        elif name.startswith("annotation"):
            is_aside = "" if closing else name
        elif closing:
            _close(words, joints)
        elif name and not found[0].endswith("/>"):
            words.append(_BEFORE.get(name, ""))
            joints.append(_JOINED.get(name, ""))
    return " ".join("".join(words).split())


def _close(words: list[str], joints: list[str]) -> None:
    """After its first part, an element's joint is written once."""
    if joints:
        joints.pop()
    if joints and joints[-1]:
        words.append(joints[-1])
        joints[-1] = ""
