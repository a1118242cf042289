//! A process-wide cache of weights by name: loaded from a folder, or added one by one.
//!
//! A folder has an index, `tensor-cache.json`, and files of concatenated tensors: `{"records": [{"dataPath", "format":
//! "raw-shard", "nbytes", "records": [{"name", "shape", "dtype", "format", "nbytes", "byteOffset"}]}]}`. Tensors of
//! float32 may be stored as bfloat16 (format `f32-to-bf16`).
use super::order::scratch;
use crate::ffi::{Args, Error, kind};
use crate::fork::Table;
use crate::json::Json;
use crate::memory::Reservation;
use crate::module::Module;
use crate::sorted_map::SortedMap;
use crate::value::{Any, DType, Device, FromAny, Function, Tensor, Tuple};
use crate::vm::{Builtin, builtin::builtin};
use std::fs::File;
use std::io::{self, Read};
use std::path::{Component, Path};
use std::sync::RwLockWriteGuard;

pub(super) const TABLE: &[Builtin] = &[
    builtin!("vm.builtin.tensor_cache.load", load(folder: &str, device_type: i64, device_id: i64) -> "None",
        "Loads a folder of weights into the tensor cache, replacing tensors of the same name."),
    builtin!("vm.builtin.tensor_cache.get", get(name: &str) -> "Tensor?", "Returns a cached tensor by name."),
    builtin!("vm.builtin.tensor_cache.update", update(name: &str, value: &Any, replace: Option<bool>) -> "None",
        "Adds a tensor to the cache; replaces an existing one only if asked to."),
    builtin!("vm.builtin.tensor_cache.remove", remove(name: &str) -> "None", "Removes a tensor from the cache."),
    builtin!("vm.builtin.tensor_cache.clear", clear() -> "None", "Empties the cache."),
    builtin!("vm.builtin.param_array_from_cache", params(prefix: &str, count: i64) -> "Tuple",
        "Returns the cached tensors prefix_0, prefix_1, …: the given number of them, or all for -1."),
    builtin!("vm.builtin.param_array_from_cache_by_name", params_by_name(names: &Tuple) -> "Tuple",
        "Returns the cached tensors with these names."),
    builtin!("vm.builtin.param_array_from_cache_by_name_unpacked", params_of_names(; "names…: str") -> "Tuple",
        "Returns the cached tensors with these names."),
    builtin!("vm.builtin.param_module_from_cache", param_module(prefix: &str, count: i64) -> "Module",
        "Returns a module whose `get_params` function returns the tensors of `param_array_from_cache`."),
    builtin!("vm.builtin.param_module_from_cache_by_name", param_module_by_name(names: &Tuple) -> "Module",
        "Returns a module whose `get_params` function returns the cached tensors with these names."),
];

static CACHE: Table<SortedMap<String, Tensor>> = Table::new(SortedMap::new());

fn cache() -> RwLockWriteGuard<'static, SortedMap<String, Tensor>> {
    CACHE.write()
}

fn get(name: &str) -> Result<Option<Tensor>, Error> {
    Ok(cache().get(name).cloned())
}

/// A tensor borrowed from other code is copied.
fn update(name: &str, value: &Any, replace: Option<bool>) -> Result<(), Error> {
    let owned = value.clone();
    let tensor = Tensor::from_any(&owned).ok_or_else(|| Error::type_error(format!("{value} is not a Tensor")))?;
    let mut cache = cache();
    if replace != Some(true) && cache.get(name).is_some() {
        return Err(Error::value(format!("tensor `{name}` is already in the cache")));
    }
    cache.insert(name.to_owned(), tensor);
    Ok(())
}

fn remove(name: &str) -> Result<(), Error> {
    cache().remove(name);
    Ok(())
}

fn clear() -> Result<(), Error> {
    cache().clear();
    Ok(())
}

fn missing(name: &str) -> Error {
    Error::new(kind::VALUE, format!("there is no tensor `{name}` in the cache"))
}

fn params(prefix: &str, count: i64) -> Result<Tuple, Error> {
    let (cache, mut found) = (cache(), Vec::new());
    for i in 0.. {
        let name = format!("{prefix}_{i}");
        match cache.get(&name) {
            _ if i == count => break,
            Some(tensor) => found.push(Any::from(tensor.clone())),
            None if count == -1 => break,
            None => return Err(missing(&name)),
        }
    }
    Ok(Tuple::new(found.into_iter()))
}

fn params_by_name(names: &Tuple) -> Result<Tuple, Error> {
    find(Args::new("param_array_from_cache_by_name", names))
}

fn params_of_names(args: Args<'_>) -> Result<Tuple, Error> {
    find(args)
}

fn param_module(prefix: &str, count: i64) -> Result<Module, Error> {
    params(prefix, count).map(module_of)
}

fn param_module_by_name(names: &Tuple) -> Result<Module, Error> {
    params_by_name(names).map(module_of)
}

fn module_of(params: Tuple) -> Module {
    Module::host_of_kind("param_module", [("get_params", Function::new(move |_| Ok(params.clone().into())))])
}

fn find(names: Args<'_>) -> Result<Tuple, Error> {
    let cache = cache();
    let tensor = |i| {
        let name = names.get::<&str>(i)?;
        cache.get(name).map(|tensor| Any::from(tensor.clone())).ok_or_else(|| missing(name))
    };
    let found: Result<Vec<_>, Error> = (0..names.len()).map(tensor).collect();
    Ok(Tuple::new(found?.into_iter()))
}

fn load(folder: &str, device_type: i64, device_id: i64) -> Result<(), Error> {
    let number = |value: i64| i32::try_from(value).map_err(|_| Error::value(format!("{value} is not a device")));
    let device = Device { kind: number(device_type)?, id: number(device_id)? };
    let folder = Path::new(folder);
    let table = folder.join("tensor-cache.json");
    let damaged = |what: String| Error::value(format!("{}: {what}", table.display()));
    let (text, _counted) = read(&table)?;
    let text = String::from_utf8(text).map_err(|_| damaged("it is not UTF-8 text".into()))?;
    let contents = Json::parse(&text).map_err(|error| damaged(error.to_string()))?;
    let mut loaded = Vec::new();
    for file in records(&contents).ok_or_else(|| damaged("there are no `records`".into()))? {
        loaded.extend(load_file(folder, file).map_err(|error| damaged(error.message().to_owned()))?);
    }
    for (name, tensor) in loaded {
        let tensor = tensor.to_device(device)?;
        cache().insert(name, tensor);
    }
    Ok(())
}

/// Reads a regular file and reserves memory for it: others may be endless, or block.
fn read(path: &Path) -> Result<(Vec<u8>, Option<Reservation>), Error> {
    let failed = |error: io::Error| Error::new("OSError", format!("cannot read {}: {error}", path.display()));
    let about = std::fs::metadata(path).map_err(failed)?;
    if !about.is_file() {
        return Err(failed(io::Error::new(io::ErrorKind::InvalidInput, "it is not a regular file")));
    }
    let counted = scratch(usize::try_from(about.len()).unwrap_or(usize::MAX), 1)?;
    let mut bytes = Vec::new();
    File::open(path).and_then(|file| file.take(about.len()).read_to_end(&mut bytes)).map_err(failed)?;
    Ok((bytes, counted))
}

fn records(object: &Json) -> Option<&[Json]> {
    object.get("records")?.as_array()
}

fn text<'a>(object: &'a Json, name: &str) -> Result<&'a str, Error> {
    object.get(name).and_then(Json::as_str).ok_or_else(|| Error::value(format!("a record has no text `{name}`")))
}

fn size(object: &Json, name: &str) -> Result<usize, Error> {
    object.get(name).and_then(Json::as_size).ok_or_else(|| Error::value(format!("a record has no number `{name}`")))
}

/// The tensors of one file, by name.
fn load_file(folder: &Path, file: &Json) -> Result<Vec<(String, Tensor)>, Error> {
    let path = Path::new(text(file, "dataPath")?);
    if !path.components().all(|part| matches!(part, Component::Normal(_))) {
        return Err(Error::value(format!("{} is not a path within the folder", path.display())));
    }
    if text(file, "format")? != "raw-shard" {
        return Err(Error::value(format!("{} has the unknown format {}", path.display(), text(file, "format")?)));
    }
    let (bytes, _counted) = read(&folder.join(path))?;
    if bytes.len() != size(file, "nbytes")? {
        return Err(Error::value(format!(
            "{} has {} bytes, not the size that its record says",
            path.display(),
            bytes.len()
        )));
    }
    let tensors = records(file).ok_or_else(|| Error::value(format!("{} has no `records`", path.display())))?;
    tensors.iter().map(|record| Ok((text(record, "name")?.to_owned(), load_tensor(record, &bytes)?))).collect()
}

fn load_tensor(record: &Json, bytes: &[u8]) -> Result<Tensor, Error> {
    let name = text(record, "name")?;
    let bad = |what: &str| Error::value(format!("tensor `{name}`: {what}"));
    let dtype: DType = text(record, "dtype")?.parse().map_err(|_| bad("its dtype is unknown"))?;
    let shape = record.get("shape").and_then(Json::as_array).ok_or_else(|| bad("it has no shape"))?;
    let shape: Option<Vec<_>> = shape.iter().map(Json::as_int).collect();
    let shape = shape.ok_or_else(|| bad("its shape is none"))?;
    let begin = size(record, "byteOffset")?;
    let stored = begin.checked_add(size(record, "nbytes")?).and_then(|end| bytes.get(begin..end));
    let stored = stored.ok_or_else(|| bad("its bytes are not in the file"))?;
    if dtype == DType::FLOAT32 && text(record, "format")? == "f32-to-bf16" {
        let widened: Vec<u8> = stored.chunks_exact(2).flat_map(|half| [0, 0, half[0], half[1]]).collect();
        return Ok(Tensor::from_bytes(dtype, &shape, &widened)?);
    }
    Ok(Tensor::from_bytes(dtype, &shape, stored)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A folder with two tensors, `name_0` of float32 stored as bfloat16 and `name_1` of int8.
    fn folder(name: &str, change: impl FnOnce(String) -> String) -> tempfile::TempDir {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("params_shard_0.bin"), [0x80, 0x3f, 0, 0xc0, 7, 8, 9]).unwrap();
        let table = format!(
            r#"{{"metadata": {{}}, "records": [{{"dataPath": "params_shard_0.bin", "format": "raw-shard", "nbytes": 7, "records": [
            {{"name": "{name}_0", "shape": [2], "dtype": "float32", "format": "f32-to-bf16", "nbytes": 4, "byteOffset": 0}},
            {{"name": "{name}_1", "shape": [1, 3], "dtype": "int8", "format": "raw", "nbytes": 3, "byteOffset": 4}}]}}]}}"#
        );
        std::fs::write(folder.path().join("tensor-cache.json"), change(table)).unwrap();
        folder
    }

    #[test]
    fn folders_are_loaded() {
        let folder = folder("loaded", |table| table);
        load(folder.path().to_str().unwrap(), 1, 1).unwrap();
        let both = params("loaded", -1).unwrap();
        assert_eq!(both[0].get::<&Tensor>().unwrap().as_slice::<f32>().unwrap(), [1.0, -2.0]);
        assert_eq!(get("loaded_1").unwrap().unwrap().as_slice::<i8>().unwrap(), [7, 8, 9]);
        assert_eq!(get("loaded_1").unwrap().unwrap().device().to_string(), "cpu:1");
        let module = param_module("loaded", 2).unwrap();
        let given = module.find("get_params").unwrap().unwrap().call(&[]).unwrap();
        assert_eq!((module.kind(), given.get::<&Tuple>().unwrap().len()), ("param_module", 2));
        assert_eq!(params("loaded", 1).unwrap().len(), 1);
        assert_eq!(
            params("loaded", 3).unwrap_err().to_string(),
            "ValueError: there is no tensor `loaded_2` in the cache"
        );
        let names = Tuple::from_iter(["loaded_1".into(), Any::from("loaded_0")]);
        assert_eq!(params_by_name(&names).unwrap()[1].get::<&Tensor>().unwrap().shape(), [2]);
        assert!(params_by_name(&Tuple::from_iter([Any::from(1i64)])).is_err());
    }

    #[test]
    fn the_cache_is_changed_one_by_one() {
        let tensor = Any::from(Tensor::scalar(1i32).unwrap());
        update("one", &tensor, None).unwrap();
        assert!(update("one", &tensor, None).unwrap_err().message().contains("already"));
        update("one", &Tensor::scalar(2i32).unwrap().into(), Some(true)).unwrap();
        assert_eq!(get("one").unwrap().unwrap().as_slice::<i32>().unwrap(), [2]);
        assert!(update("two", &Any::from(3i64), None).is_err());
        remove("one").unwrap();
        assert!(get("one").unwrap().is_none());
    }

    #[test]
    fn damaged_folders_are_refused() {
        let refused = |change: fn(String) -> String| {
            let folder = folder("damaged", change);
            load(folder.path().to_str().unwrap(), 1, 0).unwrap_err().to_string()
        };
        assert!(refused(|table| table[..table.len() - 1].to_owned()).contains("byte"));
        assert!(refused(|table| table.replace("\"nbytes\": 7", "\"nbytes\": 8")).contains("7 bytes"));
        assert!(refused(|table| table.replace("params_shard", "../params_shard")).contains("within"));
        assert!(refused(|table| table.replace("raw-shard", "zip")).contains("zip"));
        assert!(refused(|table| table.replace("\"byteOffset\": 4", "\"byteOffset\": 5")).contains("not in the file"));
        assert!(refused(|table| table.replace("[1, 3]", "[4]")).contains("takes 4 bytes"));
        assert!(refused(|table| table.replace("int8", "int9z")).contains("dtype"));
        assert!(get("damaged_0").unwrap().is_none());
        assert!(load("/there/is/none", 1, 0).unwrap_err().to_string().starts_with("OSError"));
    }
}
