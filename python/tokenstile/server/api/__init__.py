"""The requests of OpenAI's API, as types.

A field that is not known is refused, and so is one that is known and cannot be done: nobody should believe that a
penalty or a bias was applied when it was not. Fields that do not change what is written are taken and ignored.
"""
