"""The shelves that tenants rent: their plans, and the reactor that applies what the plans say."""
