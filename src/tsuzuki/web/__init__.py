"""Pages for people: one module per page, its template in templates/, what a browser loads in static/."""
