"""What clients are sent: outputs in the shape of OpenAI's API, whole or as a stream of events."""
