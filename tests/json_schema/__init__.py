"""Tests of JSON Schema, and the harnesses that measure it; see the modules."""
