"""A folder of JSON Schemas as a registry: the documents that references may lead to, by their addresses.

A document has the address that its ``$id`` (or ``id``) gives, if that is a whole one, and its path in the folder with
slashes, as a schema beside it would name it: ``common/address.json``. All files whose name ends in ``.json`` are read.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Final
from urllib.parse import urlsplit

from tokenstile.exceptions import InvalidArgumentError, JSONSchemaError

if TYPE_CHECKING:
    from os import PathLike

__all__ = ["read_schema_folder"]

_LARGEST_FOLDER: Final = 64 << 20


def read_schema_folder(path: str | PathLike[str]) -> dict[str, str]:
    """Return the texts of the schemas in a folder and in those below it, by their addresses."""
    folder = Path(path)
    if not folder.is_dir():
        raise InvalidArgumentError(
            f"registry must be the path of a folder, or map URIs to schemas: {folder} is none"
        )
    registry: dict[str, str] = {}
    size = 0
    for file in sorted(folder.rglob("*.json")):
        if not file.is_file():
            continue
        size += file.stat().st_size
        if size > _LARGEST_FOLDER:
            raise InvalidArgumentError(f"the schemas in {folder} are larger than {_LARGEST_FOLDER >> 20} MiB")
        text = file.read_bytes().decode("utf-8", errors="strict")
        registry[file.relative_to(folder).as_posix()] = text
        address = _own_address(file, text)
        if registry.setdefault(address, text) != text:
            raise InvalidArgumentError(
                f"two files in {folder} have the address {address!r}, {file} is one of them"
            )
    return registry


def _own_address(file: Path, text: str) -> str:
    """Return the whole address that a schema gives itself; its name where it gives none."""
    try:
        document = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise JSONSchemaError(f"{file} is not JSON: {error}") from error
    for keyword in ("$id", "id") if isinstance(document, dict) else ():
        address = document.get(keyword)
        if isinstance(address, str) and urlsplit(address).scheme:
            return address
    return file.as_uri() if file.is_absolute() else file.absolute().as_uri()
