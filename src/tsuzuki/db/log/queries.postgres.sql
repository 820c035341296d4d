-- fragment: id
value #>> '{}'
