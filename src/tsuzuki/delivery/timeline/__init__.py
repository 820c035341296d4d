"""A shelf's entries as people look at them: with names, beginnings and covers, by what they chose to see."""
