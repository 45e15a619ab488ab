# test/gtest/flow
