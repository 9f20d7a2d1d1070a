"""Who stands in which rack at which unit; racks that are alike are one elevation."""
