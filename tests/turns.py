"""In which order tests run where several processes share them: what takes longest begins first.

Otherwise one process is left with it at the end, and the others have nothing to do. Tests of a module stay together,
for they share what the module sets up.
"""

from collections.abc import Sequence
from itertools import chain, groupby

Test = tuple[str, float]
"""Where it is, and how long it may take: nothing for what is short."""


def in_turn(tests: Sequence[Test], processes: int) -> list[int]:
    """The places of these tests in their new order, of which each process begins with an equal part.

    Modules with long tests go to the processes one by one, the longest first; all others stay in their order.
    """
    modules = [list(module) for _, module in groupby(range(len(tests)), key=lambda place: _module(tests[place]))]
    length = {module[0]: max(tests[place][1] for place in module) for module in modules}
    long = sorted((module for module in modules if length[module[0]]), key=lambda module: -length[module[0]])
    parts = [list(chain(*long[first::processes])) for first in range(processes)]
    short = chain(*(module for module in modules if not length[module[0]]))
    for part in parts:
        part += [place for _, place in zip(range(len(tests) // processes - len(part)), short, strict=False)]
    return [*chain(*parts), *short]


def _module(test: Test) -> str:
    return test[0].partition("::")[0]
