"""The one design out of sizing, fabrics, optics and site: everything that is built, without money."""
