"""The exceptions under the module name that XGrammar gives them; see `tokenstile.exceptions`."""

from tokenstile.exceptions import (
    DeserializeFormatError,
    DeserializeVersionError,
    InvalidJSONError,
    InvalidStructuralTagError,
)

__all__ = [
    "DeserializeFormatError",
    "DeserializeVersionError",
    "InvalidJSONError",
    "InvalidStructuralTagError",
]
