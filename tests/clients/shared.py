"""What all clients are asked for."""

from tests.clients.conftest import CITY, MODEL, QUESTION, Person

__all__ = ["CITY", "MODEL", "QUESTION", "Person"]
