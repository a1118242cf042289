//! Object types and their fields.
use crate::ffi::{Error, TraceEntry};
use crate::fork::Table;
use crate::sorted_map::SortedMap;
use crate::value::{Adt, Any, Closure, ErrorObject, FromAny, Opaque, Storage, Tuple, index};
use std::any::TypeId;

/// An object type: its name, its fields, and its constructor.
pub(super) struct ObjectType {
    /// The name in saved values.
    pub(super) key: &'static str,
    /// Names and values of an object's fields, always the same names in the same order.
    pub(super) fields: fn(&Any) -> Vec<(&'static str, Any)>,
    /// Constructs an object; `None` if such objects are only valid in the process that created them.
    pub(super) make: Option<fn(&Fields<'_>) -> Result<Any, Error>>,
}

static ADT: ObjectType = ObjectType {
    key: "hammock.Adt",
    fields: |value| {
        of(value, |adt: &Adt| {
            let fields = Tuple::new(adt.fields().iter().cloned());
            vec![("tag", adt.tag().into()), ("fields", fields.into())]
        })
    },
    make: Some(|fields| {
        let values: &Tuple = fields.get("fields")?;
        Ok(Adt::new(fields.get("tag")?, values.iter().cloned()).into())
    }),
};

static ERROR: ObjectType = ObjectType {
    key: "ffi.Error",
    fields: |value| {
        of(value, |error: &ErrorObject| {
            let cause = error.cause().map_or(Any::NONE, |cause| cause.clone().into());
            let texts = [("kind", error.kind()), ("message", error.message()), ("backtrace", error.backtrace())];
            texts.map(|(name, text)| (name, Any::str(text))).into_iter().chain([("cause", cause)]).collect()
        })
    },
    make: Some(|fields| {
        let mut error = Error::new(fields.get::<&str>("kind")?.to_owned(), fields.get::<&str>("message")?);
        TraceEntry::of_backtrace(fields.get("backtrace")?).for_each(|entry| error.push_trace(entry));
        let cause: Option<&ErrorObject> = fields.get("cause")?;
        Ok(match cause {
            Some(cause) => error.with_cause(cause.to_error()).into(),
            None => error.into(),
        })
    }),
};

static STORAGE: ObjectType = ObjectType {
    key: "hammock.Storage",
    fields: |value| {
        of(value, |storage: &Storage| {
            let block = storage.block();
            let address = Any::opaque(block.as_ptr().cast());
            vec![("bytes", (block.size() as i64).into()), ("device", block.device().into()), ("address", address)]
        })
    },
    make: None,
};

static CLOSURE: ObjectType = ObjectType {
    key: "hammock.Closure",
    fields: |value| {
        of(value, |closure: &Closure| {
            let bound = Tuple::new(closure.bound().iter().cloned());
            let (program, function) = (closure.program() as i64, i64::from(closure.function()));
            vec![("program", program.into()), ("function", function.into()), ("bound", bound.into())]
        })
    },
    make: None,
};

fn of<'a, T>(value: &'a Any, fields: impl FnOnce(&T) -> Vec<(&'static str, Any)>) -> Vec<(&'static str, Any)>
where
    T: 'a,
    &'a T: FromAny<'a>,
{
    value.get::<&'a T>().map(fields).unwrap_or_default()
}

/// The type of an object with declared fields.
pub(super) fn type_of(value: &Any) -> Option<&'static ObjectType> {
    match value.type_index() {
        index::ADT => Some(&ADT),
        index::ERROR => Some(&ERROR),
        index::STORAGE => Some(&STORAGE),
        index::CLOSURE => Some(&CLOSURE),
        index::OPAQUE => REGISTERED.read().by_id(value.get::<&Opaque>()?),
        _ => None,
    }
}

/// Names and values of an object's declared fields; empty for other values.
pub fn fields(value: &Any) -> Vec<(&'static str, Any)> {
    type_of(value).map(|ty| (ty.fields)(value)).unwrap_or_default()
}

/// The type with the name `key` in saved values.
pub(super) fn find(key: &str) -> Option<&'static ObjectType> {
    let own = [&ADT, &ERROR, &STORAGE, &CLOSURE].into_iter().find(|ty| ty.key == key);
    own.or_else(|| REGISTERED.read().0.values().copied().find(|t| t.key == key))
}

/// A Rust type with declared fields, for values that programs pass around as [`Opaque`] objects.
pub trait Reflect: Send + Sync + Sized + 'static {
    /// The name in saved values, such as `app.Tokenizer`.
    const KEY: &'static str;

    /// Names and values of its fields: always the same names in the same order.
    fn fields(&self) -> Vec<(&'static str, Any)>;

    /// Constructs a value from saved fields.
    fn from_fields(fields: &Fields<'_>) -> Result<Self, Error>;
}

static REGISTERED: Table<Registered> = Table::new(Registered(SortedMap::new()));

struct Registered(SortedMap<TypeId, &'static ObjectType>);

impl Registered {
    fn by_id(&self, object: &Opaque) -> Option<&'static ObjectType> {
        self.0.get(&object.type_id()).copied()
    }
}

/// Registers the type `T`; fails if another type has its name.
pub fn register<T: Reflect>() -> Result<(), Error> {
    if let Some(taken) = find(T::KEY) {
        let known = REGISTERED.read().0.get(&TypeId::of::<T>()).copied();
        let same = known.is_some_and(|known| std::ptr::eq(known, taken));
        return if same { Ok(()) } else { Err(Error::value(format!("type `{}` already exists", T::KEY))) };
    }
    // Types are registered once for the whole process and never freed.
    let ty = Box::leak(Box::new(ObjectType {
        key: T::KEY,
        fields: |value| of(value, |object: &Opaque| object.downcast::<T>().map(T::fields).unwrap_or_default()),
        make: Some(|fields| Ok(Opaque::new(T::from_fields(fields)?).into())),
    }));
    REGISTERED.write().0.insert(TypeId::of::<T>(), ty);
    Ok(())
}

/// The fields of an object that is being loaded.
pub struct Fields<'a> {
    pub(super) key: &'a str,
    pub(super) values: Vec<(&'a str, Any)>,
}

impl Fields<'_> {
    /// The field `name` as a `T`.
    pub fn get<'a, T: FromAny<'a>>(&'a self, name: &str) -> Result<T, Error> {
        let wrong = || Error::type_error(format!("a {} needs a field `{name}` of kind {}", self.key, T::NAME));
        let value = self.values.iter().find(|(known, _)| *known == name).map(|(_, value)| value);
        value.and_then(T::from_any).ok_or_else(wrong)
    }
}
