# src/efasim
