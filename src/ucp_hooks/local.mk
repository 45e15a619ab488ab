# src/ucp_hooks
