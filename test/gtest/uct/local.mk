# test/gtest/uct
