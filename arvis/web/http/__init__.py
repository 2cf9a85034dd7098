"""HTTP basics: endpoints, requests, errors, rate limits, OpenAPI."""
