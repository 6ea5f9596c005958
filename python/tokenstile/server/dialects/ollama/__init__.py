"""Ollama's API: ``/api/chat``, ``/api/generate`` and what its clients ask besides."""
