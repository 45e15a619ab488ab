# test/gtest/efasim
