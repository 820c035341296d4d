"""The data layer: `with_tx` is the only way into a transaction, and SQL stands in files.

Only this package imports a database driver. The rest of the program sees `Database`, `Tx` and `load_queries`.
"""

from tsuzuki.db.database import Database, DatabaseOptions
from tsuzuki.db.engines import open_database
from tsuzuki.db.queries import Queries, Query, load_queries
from tsuzuki.db.tx import Tx

__all__ = ["Database", "DatabaseOptions", "Queries", "Query", "Tx", "load_queries", "open_database"]
