"""XGrammar's own public tests, run over this package under XGrammar's name. See `run`."""
