"""Public ids in the paths of pages."""

from starlette.requests import Request

from tsuzuki.model.errors import NotFound
from tsuzuki.model.ids import PublicId, read_id


def id_of(request: Request, name: str) -> PublicId:
    """The id in the path; NotFound for a text that cannot be one."""
    public_id = read_id(request.path_params[name])
    if public_id is None:
        raise NotFound("There is nothing at this address.")
    return public_id
