//! Signatures of functions as text and as JSON.

use hammock_runtime::{
    image::{
        Image,
        signature::{Dims, Param, Role, Signature, Size, ValueType},
    },
    json::Json,
};

/// The signatures of the callable functions of an image.
pub fn signatures(image: &Image) -> Vec<Signature> {
    let names = image.executable.exported();
    names.filter_map(|name| image.signature(name)).map(std::borrow::Cow::into_owned).collect()
}

/// Formats signatures for people: one line per parameter and result.
pub fn signature_text(signatures: &[Signature]) -> String {
    let mut text = String::new();
    for Signature { function, params, results } in signatures {
        text += &format!("{function}\n");
        let all = || params.iter().chain(results);
        let width = |len: &dyn Fn(&Param) -> usize| all().map(len).filter(|len| *len <= 40).max().unwrap_or(0);
        let name = width(&|param| param.name.chars().count());
        for Param { name: own, role, ty } in all() {
            let (role, note) = match role {
                Role::Bound => ("weight", "  bound"),
                Role::Default => ("input", "  has a default value"),
                role => (role.name(), ""),
            };
            text += &format!("    {role:<6}  {own:<name$}  {ty}{note}\n");
        }
    }
    text
}

/// Formats signatures for programs: one JSON object.
pub fn signature_json(signatures: &[Signature]) -> String {
    let functions = signatures.iter().map(|Signature { function, params, results }| {
        let of = |roles: &[Role]| params.iter().filter(|param| roles.contains(&param.role)).map(json).collect();
        Json::object([
            ("name", function.as_str().into()),
            ("inputs", of(&[Role::Input, Role::Default])),
            ("weights", of(&[Role::Weight, Role::Bound])),
            ("outputs", results.iter().map(json).collect()),
        ])
    });
    format!("{}\n", Json::object([("functions", functions.collect())]))
}

fn json(param: &Param) -> Json {
    let mut members = vec![("name".to_owned(), param.name.as_str().into())];
    if matches!(param.role, Role::Weight | Role::Bound) {
        members.push(("bound".to_owned(), Json::Bool(param.role == Role::Bound)));
    }
    if param.role == Role::Default {
        members.push(("default".to_owned(), Json::Bool(true)));
    }
    members.extend(type_members(&param.ty));
    Json::Object(members)
}

fn type_members(ty: &ValueType) -> Vec<(String, Json)> {
    let dims = |dims: &Dims| match dims {
        Dims::Unknown => Json::Null,
        Dims::Rank(rank) => (0..*rank).map(|_| Json::Null).collect(),
        Dims::Known(sizes) => sizes.iter().map(size).collect(),
    };
    let members: Vec<(&str, Json)> = match ty {
        ValueType::Tensor { dtype, shape } => {
            let dtype = dtype.map_or(Json::Null, |dtype| Json::Str(dtype.to_string()));
            vec![("type", "tensor".into()), ("dtype", dtype), ("shape", dims(shape))]
        }
        ValueType::Shape(shape) => vec![("type", "shape".into()), ("shape", dims(shape))],
        ValueType::Scalar(dtype) => vec![("type", "number".into()), ("dtype", Json::Str(dtype.to_string()))],
        ValueType::Tuple(fields) => {
            let fields = fields.iter().map(|field| Json::Object(type_members(field)));
            vec![("type", "tuple".into()), ("fields", fields.collect())]
        }
        ValueType::Other(text) => vec![("type", text.as_str().into())],
    };
    members.into_iter().map(|(name, value)| (name.to_owned(), value)).collect()
}

fn size(size: &Size) -> Json {
    match size {
        Size::Static(size) => Json::Int(*size),
        Size::Symbol(text) => text.as_str().into(),
    }
}
