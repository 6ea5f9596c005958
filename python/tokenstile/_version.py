"""The version of the package, under the names that XGrammar's module has."""

from tokenstile._core import __version__

__all__ = ["__commit_id__", "__version__", "__version_tuple__", "commit_id", "version", "version_tuple"]

version = __version__
__version_tuple__ = version_tuple = tuple(
    int(part) if part.isdecimal() else part for part in __version__.split(".")
)
__commit_id__: str | None = None
"""Not known: a release is told by its version."""
commit_id = __commit_id__
