"""Backends that misbehave, for tests of what the manager does about it."""

from __future__ import annotations

import threading

from tokenstile.structured_output import TokenstileBackend, register_backend


class HeldBackend(TokenstileBackend):
    """Compiles when it is let; counts compilations. Cannot be cancelled."""

    def __init__(self, context):
        super().__init__(context)
        self.go = threading.Event()
        self.begun = threading.Semaphore(0)
        self.count = 0

    def compile_grammar(self, grammar_type, grammar_spec, stop_token_ids=None, *, cancel=None, **_):
        self.count += 1
        self.begun.release()
        if grammar_spec != "now":
            self.go.wait(30)
        if cancel is not None and cancel.cancelled:
            raise RuntimeError("cancelled")
        return super().compile_grammar(grammar_type, grammar_spec, stop_token_ids)


class ForeignBackend:
    """vLLM's three methods and no more, around grammars that the native code does not know."""

    def __init__(self, context, wrap):
        self.inner = TokenstileBackend(context)
        self.wrap = wrap

    def compile_grammar(self, grammar_type, grammar_spec, stop_token_ids=None):
        return self.wrap(self.inner.compile_grammar(grammar_type, grammar_spec, stop_token_ids))

    def allocate_token_bitmask(self, max_num_seqs):
        return self.inner.allocate_token_bitmask(max_num_seqs)

    def destroy(self):
        self.inner.destroy()


class Opaque:
    """A grammar with the methods of the contract, and nothing that shows what is inside."""

    def __init__(self, grammar):
        self._grammar = grammar

    def __getattr__(self, name):
        if name in {"matcher", "fresh"}:
            raise AttributeError(name)
        return getattr(self._grammar, name)


class BrokenOpaque(Opaque):
    """One that raises where others answer."""

    def fill_bitmask(self, *_):
        raise OSError("no mask today")

    def accept_tokens(self, *_):
        raise OSError("no tokens today")

    def validate_tokens(self, *_):
        raise OSError("no drafts today")


def held(made):
    """Register a backend that is held, and put those that are made into a list."""

    def make(context):
        made.append(HeldBackend(context))
        return made[-1]

    register_backend("held", make)


register_backend("opaque", lambda context: ForeignBackend(context, Opaque))
register_backend("broken", lambda context: ForeignBackend(context, BrokenOpaque))
