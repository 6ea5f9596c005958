"""Tests of the package. A package itself, so that its harnesses can be run with ``python -m``."""
