//! The text of graphs in parts, for tools that show parameters and bindings one by one.

/// A global graph in parts, spelled as in the text of the module.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct GraphText {
    /// Name of the function.
    pub name: String,
    /// Name and type of each parameter.
    pub params: Vec<(String, String)>,
    /// Type of the result.
    pub ret_ty: String,
    /// Bindings in order, those of all blocks of the body, not those of nested bodies.
    pub bindings: Vec<BindingText>,
    /// The result.
    pub result: String,
}

/// A binding in parts.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct BindingText {
    /// The variable; `_` if the binding exists for its effect only.
    pub var: String,
    /// Type of the variable.
    pub ty: String,
    /// Right side of the assignment; for branches and nested functions, all their lines.
    pub value: String,
}
