"""The built network against the plan: outputs of its devices as links, their names in the plan, and what differs."""
