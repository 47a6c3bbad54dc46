"""Reading quota, choosing accounts, forecasting and alerts."""
