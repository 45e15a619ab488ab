# test/gtest/ucp
