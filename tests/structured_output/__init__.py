"""The serving layer."""
