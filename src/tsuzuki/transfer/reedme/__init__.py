"""What people had in ReedMe or Fusion, brought along."""
