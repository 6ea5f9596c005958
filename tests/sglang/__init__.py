"""Tests with SGLang's own objects on a CPU; ``make test-sglang`` runs them, where ``make test-vllm`` does."""
