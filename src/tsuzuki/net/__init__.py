"""The one polite and safe way out: guard, pace, caps, conditional GET, cookies, proxies."""
