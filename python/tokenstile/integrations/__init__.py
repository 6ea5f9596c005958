"""Engines that generate text, and what each of them needs to be held to a grammar.

One module an engine, imported only by those who use it; each needs the package that it is named after, and says so
where that is missing. What the modules share is in `following` (where is a sequence of tokens in its grammar?) and
`masking` (write that into scores).
"""
