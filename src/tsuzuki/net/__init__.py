"""The HTTP client for calls to sources: guard, pace, caps, conditional GET, cookies, proxies."""
