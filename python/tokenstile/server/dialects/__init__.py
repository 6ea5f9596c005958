"""Other APIs than OpenAI's chat completions: its responses, Anthropic's messages, Ollama's.

Each is a folder with the request, which becomes a request for a chat completion, and the answer, which is written from
the same pieces as one. So what is enforced, bounded and counted is the same, whoever asks.
"""
