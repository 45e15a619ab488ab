# tests of src/ucp_hooks
