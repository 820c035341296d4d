"""A feed that moved to an address which is a feed already: the two become one."""
