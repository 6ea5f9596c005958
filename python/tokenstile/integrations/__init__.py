"""Tokenstile inside of inference engines: one module an engine, imported only when it is used."""
