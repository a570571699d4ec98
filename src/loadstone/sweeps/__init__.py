"""Which runs a figure or a grid file asks for. How runs are done is in `experiments`."""
