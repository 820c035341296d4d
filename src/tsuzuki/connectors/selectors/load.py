"""From the text of a definition file to a checked `Definition`."""

from tsuzuki.connectors.selectors.checking import check
from tsuzuki.connectors.selectors.definition import Definition
from tsuzuki.connectors.selectors.document import bad_definition, read_document
from tsuzuki.connectors.selectors.shaping import Shaper


def load_definition(text: str, name: str) -> Definition:
    """The definition, or `BadDefinition` with every problem as `name:line:column`."""
    shaper = Shaper()
    shaped = shaper.shape(read_document(text, name))
    if shaped is None:
        raise bad_definition(name, shaper.problems)
    problems = [(*shaped.place(path), message) for path, message in check(shaped.definition)]
    if problems:
        raise bad_definition(name, problems)
    return shaped.definition
