"""Storage of accepted reports until a round collects them."""
