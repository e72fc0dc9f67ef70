"""What each library is asked with: functions that call it and move axes, and repair nothing."""
