//! Reading and writing `.npy` and `.npz` files.

use super::InputError;
use crate::{DType, Element, Tensor};
use npyz::{DType as NpyType, Deserialize, NpyFile, Order, TypeStr, WriterBuilder};
use std::{
    fs::File,
    io::{BufReader, BufWriter, Read, Write},
    path::Path,
};
use zip::{CompressionMethod, ZipArchive, ZipWriter, write::SimpleFileOptions};

/// Reads a `.npy` file.
///
/// # Errors
/// When it cannot be read, is damaged, or holds elements that are no numbers.
pub fn load_npy(path: &Path) -> Result<Tensor, InputError> {
    let file = File::open(path).map_err(|e| failed(path, &e))?;
    let npy = NpyFile::new(BufReader::new(file)).map_err(|e| failed(path, &e))?;
    read(npy).map_err(|e| InputError::new(format!("cannot read {}: {e}", path.display())))
}

/// Reads one array of a `.npz` file.
///
/// # Errors
/// When the file cannot be read or is damaged, or has no array of that name.
pub fn load_npz(path: &Path, name: &str) -> Result<Tensor, InputError> {
    let file = File::open(path).map_err(|e| failed(path, &e))?;
    let mut archive = ZipArchive::new(BufReader::new(file)).map_err(|e| failed(path, &e))?;
    let entry = format!("{name}.npy");
    if archive.index_for_name(&entry).is_none() {
        let names: Vec<&str> = archive.file_names().filter_map(|n| n.strip_suffix(".npy")).collect();
        let error = InputError::new(format!("{} has no array `{name}`", path.display()));
        return Err(error.help(format!("it has {}", names.join(", "))));
    }
    let npy = archive.by_name(&entry).map_err(|e| failed(path, &e))?;
    read(NpyFile::new(npy).map_err(|e| failed(path, &e))?)
        .map_err(|e| InputError::new(format!("cannot read `{name}` of {}: {e}", path.display())))
}

/// Writes arrays to a `.npz` file. The file appears whole or not at all.
///
/// # Errors
/// When it cannot be written.
pub fn save_npz(path: &Path, arrays: &[(String, Tensor)]) -> Result<(), InputError> {
    let cannot = |e: &dyn std::fmt::Display| InputError::new(format!("cannot write {}: {e}", path.display()));
    let temporary = path.with_extension(format!("npz.{}.part", std::process::id()));
    let result = (|| -> Result<(), Box<dyn std::error::Error>> {
        let mut npz = ZipWriter::new(BufWriter::new(File::create(&temporary)?));
        for (name, tensor) in arrays {
            let stored = SimpleFileOptions::default().compression_method(CompressionMethod::Stored);
            npz.start_file(format!("{name}.npy"), stored.large_file(tensor.nbytes() >= u32::MAX as usize))?;
            write(&mut npz, tensor)?;
        }
        npz.finish()?.flush()?;
        std::fs::rename(&temporary, path)?;
        Ok(())
    })();
    result.map_err(|e| {
        let _ = std::fs::remove_file(&temporary);
        cannot(&e)
    })
}

fn failed(path: &Path, error: &dyn std::fmt::Display) -> InputError {
    InputError::new(format!("cannot read {}: {error}", path.display()))
}

fn read<R: Read>(npy: NpyFile<R>) -> Result<Tensor, Box<dyn std::error::Error>> {
    let NpyType::Plain(kind) = npy.dtype() else { return Err("records are not tensors".into()) };
    let name = kind.to_string();
    Ok(match name.trim_start_matches(['<', '>', '|', '=']) {
        "f4" => tensor::<f32, R>(npy)?,
        "f8" => tensor::<f64, R>(npy)?,
        "f2" => tensor::<half::f16, R>(npy)?,
        "i1" => tensor::<i8, R>(npy)?,
        "i2" => tensor::<i16, R>(npy)?,
        "i4" => tensor::<i32, R>(npy)?,
        "i8" => tensor::<i64, R>(npy)?,
        "u1" => tensor::<u8, R>(npy)?,
        "u2" => tensor::<u16, R>(npy)?,
        "u4" => tensor::<u32, R>(npy)?,
        "u8" => tensor::<u64, R>(npy)?,
        "b1" => tensor::<bool, R>(npy)?,
        other => return Err(format!("elements of type `{other}` are not supported").into()),
    })
}

fn tensor<T: Element + Deserialize, R: Read>(npy: NpyFile<R>) -> Result<Tensor, Box<dyn std::error::Error>> {
    let shape = npy.shape().iter().map(|d| i64::try_from(*d)).collect::<Result<Vec<_>, _>>()?;
    let fortran = npy.order() == Order::Fortran;
    let values: Vec<T> = npy.into_vec()?;
    if !fortran || shape.len() < 2 {
        return Ok(Tensor::from_slice(&shape, &values)?);
    }
    // Column-major: the first dimension is contiguous.
    let flat = Tensor::from_slice(&[values.len() as i64], &values)?;
    let strides = shape.iter().scan(1, |step, d| Some(std::mem::replace(step, *step * d))).collect::<Vec<i64>>();
    Ok(flat.strided(&shape, &strides, 0)?.to_contiguous()?)
}

fn write<W: Write>(out: W, tensor: &Tensor) -> Result<(), Box<dyn std::error::Error>> {
    let tensor = tensor.to_contiguous()?;
    match tensor.dtype() {
        DType::FLOAT32 => array::<f32, W>(out, &tensor, "<f4"),
        DType::FLOAT64 => array::<f64, W>(out, &tensor, "<f8"),
        DType::FLOAT16 => array::<half::f16, W>(out, &tensor, "<f2"),
        DType::INT8 => array::<i8, W>(out, &tensor, "|i1"),
        DType::INT16 => array::<i16, W>(out, &tensor, "<i2"),
        DType::INT32 => array::<i32, W>(out, &tensor, "<i4"),
        DType::INT64 => array::<i64, W>(out, &tensor, "<i8"),
        DType::UINT8 => array::<u8, W>(out, &tensor, "|u1"),
        DType::UINT16 => array::<u16, W>(out, &tensor, "<u2"),
        DType::UINT32 => array::<u32, W>(out, &tensor, "<u4"),
        DType::UINT64 => array::<u64, W>(out, &tensor, "<u8"),
        DType::BOOL => array::<bool, W>(out, &tensor, "|b1"),
        DType::BFLOAT16 => {
            // numpy has no bfloat16; every value is a float32.
            let values: Vec<f32> = tensor.as_slice::<half::bf16>()?.iter().map(|v| v.to_f32()).collect();
            array::<f32, W>(out, &Tensor::from_slice(tensor.shape(), &values)?, "<f4")
        }
        other => Err(format!("numpy has no element type for {other}").into()),
    }
}

fn array<T: Element + npyz::Serialize + Copy, W: Write>(
    out: W,
    tensor: &Tensor,
    kind: &str,
) -> Result<(), Box<dyn std::error::Error>> {
    let shape = tensor.shape().iter().map(|d| u64::try_from(*d)).collect::<Result<Vec<_>, _>>()?;
    let kind: TypeStr = kind.parse()?;
    let mut writer = npyz::WriteOptions::new().dtype(NpyType::Plain(kind)).shape(&shape).writer(out).begin_nd()?;
    writer.extend(tensor.as_slice::<T>()?.iter().copied())?;
    writer.finish()?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn folder() -> std::path::PathBuf {
        let name = std::thread::current().name().unwrap_or("npy").replace("::", "_");
        let folder = std::env::temp_dir().join(format!("hammock-{}-{name}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        folder
    }

    #[test]
    fn arrays_come_back() {
        let path = folder().join("a.npz");
        let arrays = vec![
            ("0".to_owned(), Tensor::from_slice(&[2, 3], &[1f32, 2.0, 3.0, 4.0, 5.0, 6.0]).unwrap()),
            ("1.0".to_owned(), Tensor::from_slice(&[2], &[true, false]).unwrap()),
            ("1.1".to_owned(), Tensor::from_slice(&[], &[7i64]).unwrap()),
            ("h".to_owned(), Tensor::from_slice(&[1], &[half::f16::from_f32(0.5)]).unwrap()),
            ("none".to_owned(), Tensor::from_slice(&[0, 4], &[] as &[u8]).unwrap()),
        ];
        save_npz(&path, &arrays).unwrap();
        for (name, tensor) in &arrays {
            let back = load_npz(&path, name).unwrap();
            assert_eq!((back.dtype(), back.shape()), (tensor.dtype(), tensor.shape()), "{name}");
            assert_eq!(back.as_bytes().unwrap(), tensor.as_bytes().unwrap(), "{name}");
        }
        let missing = load_npz(&path, "x").unwrap_err();
        assert!(missing.help.unwrap().contains("1.0"));
    }

    #[test]
    fn column_major_is_read_in_its_own_order() {
        let path = folder().join("f.npy");
        let header = "{'descr': '<i4', 'fortran_order': True, 'shape': (2, 3), }";
        let mut bytes = b"\x93NUMPY\x01\x00".to_vec();
        let padded = format!("{header:<117}\n");
        bytes.extend((padded.len() as u16).to_le_bytes());
        bytes.extend(padded.as_bytes());
        bytes.extend([1i32, 4, 2, 5, 3, 6].iter().flat_map(|v| v.to_le_bytes()));
        std::fs::write(&path, bytes).unwrap();
        assert_eq!(load_npy(&path).unwrap().as_slice::<i32>().unwrap(), &[1, 2, 3, 4, 5, 6]);
    }

    #[test]
    fn damaged_files_are_refused() {
        let path = folder().join("d.npz");
        let tensor = Tensor::from_slice(&[64], &[1.5f64; 64]).unwrap();
        save_npz(&path, &[("x".to_owned(), tensor)]).unwrap();
        let bytes = std::fs::read(&path).unwrap();
        for cut in (0..bytes.len()).step_by(7) {
            std::fs::write(&path, &bytes[..cut]).unwrap();
            assert!(load_npz(&path, "x").is_err(), "cut at {cut}");
        }
    }
}
