//! Files of tensors, and the kinds of files that users have around models.

pub(crate) mod file_kind;
pub(crate) mod npy;
pub(crate) mod npz;
pub(crate) mod onnx_tensor;
pub(crate) mod safetensors_file;
