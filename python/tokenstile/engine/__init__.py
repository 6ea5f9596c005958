"""A small engine that serves a model with structured output: the pipeline, in code that can be read in one go.

It is for learning how the parts of `tokenstile.structured_output` work together, for tests, and for serving a small
model on one machine. In the order of reading:

- `engine`: the loop. Requests are admitted once their grammar is ready, and each step feeds the tokens of all running
  requests to the model at once, computes the masks on another thread meanwhile, samples, and moves the grammars on;
- `request`: one request as its client sees it: a stream of chunks, a result, a way to give it up;
- `sampling`, `drafting`, `thoughts`, `text`: choosing a token, guessing the next ones, telling thoughts from answers,
  and bytes that become text;
- `models`: what the engine asks of a model, and models of transformers and of llama.cpp that do it.
"""

from tokenstile.engine.engine import Engine
from tokenstile.engine.models import Feed, Model
from tokenstile.engine.request import Chunk, Completion, FinishReason, GenerationRequest
from tokenstile.engine.sampling import SamplingParams, TokenLogprobs

__all__ = [
    "Chunk",
    "Completion",
    "Engine",
    "Feed",
    "FinishReason",
    "GenerationRequest",
    "Model",
    "SamplingParams",
    "TokenLogprobs",
]
