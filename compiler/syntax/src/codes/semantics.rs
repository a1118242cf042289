//! E02xx: names, types and verification.

super::codes! {
    UNDEFINED_NAME = "E0201", "undefined name", "\
A name is used that nothing defines at this place.

Names are the parameters and earlier bindings of the function, the module's functions (through `cls` or the module's
name), symbolic dimensions declared with `TypeVar`, and the namespaces `R`, `T` and `I`. A binding made in one branch
of an `if` is visible after it only when both branches make it.";
}
