"""The shelves that tenants rent: their plans, and the enforcer that applies what the plans say."""
