"""What is followed of feeds: their state, adding and changing them, groups, lists in and out."""
