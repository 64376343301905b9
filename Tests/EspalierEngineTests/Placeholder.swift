// Placeholder of the skeleton: replaced by the first suite of this target.
