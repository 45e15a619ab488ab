# src/uct/ib
