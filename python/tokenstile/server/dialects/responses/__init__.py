"""OpenAI's API of responses: ``/v1/responses``. Nothing is stored: a request has its whole conversation."""
