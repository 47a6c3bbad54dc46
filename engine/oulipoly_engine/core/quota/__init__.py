"""Windows, readings, burn rates, forecasts and alerts."""
