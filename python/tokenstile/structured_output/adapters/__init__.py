"""Other libraries behind the contract: each is imported when its backend is asked for."""
