"""Each installment is stored once, however often and by however many workers it is seen."""
