"""Money that comes in, by whichever provider: all of it ends in `receive_payment_tx`."""
