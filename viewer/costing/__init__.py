"""What was spent: from buckets to rows to lines."""
