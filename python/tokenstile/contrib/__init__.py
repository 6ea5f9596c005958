"""Glue for other libraries, under the names that XGrammar has for it. Each module is imported only when it is used."""
