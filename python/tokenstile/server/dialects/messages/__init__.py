"""Anthropic's API of messages: ``/v1/messages`` and ``/v1/messages/count_tokens``."""
