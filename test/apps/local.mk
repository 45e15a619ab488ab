# test/apps
