//! The functions of the CUDA driver.
