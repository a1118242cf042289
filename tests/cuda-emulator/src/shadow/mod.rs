//! Who wrote and read each byte since which barrier: races, unwritten bytes.
