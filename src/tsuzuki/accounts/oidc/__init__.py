"""Signing in at an OpenID Connect provider that the operator chose."""
