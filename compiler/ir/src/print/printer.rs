//! State that all parts of the printer share: the text so far, names in scope, the function being printed.

use super::{
    literal,
    metadata::Metadata,
    names::{Entity, Names},
    parts::{BindingText, GraphText},
};
use crate::{
    Module, PrimExpr,
    prim::{PrimType, Var},
    relax,
    tir::{Buffer, Stmt},
};
use rustc_hash::{FxHashMap, FxHashSet};
use std::{mem, rc::Rc};

/// Notation of scalars: a plain integer is int64 in graphs and int32 in kernels.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Dialect {
    /// Attributes of the module.
    Module,
    /// Graphs.
    Relax,
    /// Kernels.
    Tir,
}

/// Namespaces used in the text, which the header names.
#[derive(Clone, Copy, Default)]
pub(super) struct Usage {
    pub ir: bool,
    pub tir: bool,
    pub relax: bool,
    pub type_var: bool,
}

/// A function being printed.
pub(super) struct Frame {
    /// Position in `out` of its declarations: before the first statement that is not an attribute.
    pub body: usize,
    /// Lines to insert there.
    pub preamble: String,
    /// The indentation of its body.
    pub indent: usize,
    /// The scope of its names.
    pub scope: usize,
    /// True if the preamble has `cls = Module`.
    pub alias: bool,
    /// While the signature of a graph is printed: the symbolic variables in it.
    pub signature: Option<Signature>,
}

/// Symbolic variables in a signature.
#[derive(Default)]
pub(super) struct Signature {
    /// Those that first occur in it.
    pub symbols: FxHashSet<Var>,
    /// Those of them that are not parameters, in order.
    pub type_vars: Vec<Var>,
    /// Scalar parameters.
    pub params: FxHashSet<Var>,
}

/// Prints one text.
pub(super) struct Printer<'a> {
    /// Finished lines.
    pub out: String,
    /// The line being written, without indentation.
    pub line: String,
    pub indent: usize,
    pub names: Names,
    pub used: Usage,
    pub dialect: Dialect,
    pub module: Option<&'a Module>,
    /// The graph whose variables are printed.
    pub graph: Option<&'a relax::Function>,
    /// Its used variables that would not be named in the text.
    pub unnamed_but_used: FxHashSet<relax::Var>,
    pub frames: Vec<Frame>,
    pub metadata: Metadata,
    /// First value and extent of the enclosing loops.
    pub loops: FxHashMap<Var, (PrimExpr, PrimExpr)>,
    /// Thread axes that several launches share.
    pub shared_threads: FxHashSet<Var>,
    /// True if the kernel is of the dialect with blocks.
    pub s_tir: bool,
    /// Buffers of one element that the text declares as scalar variables.
    pub scalars: FxHashSet<Buffer>,
    /// Printed graphs in parts, where they are recorded.
    pub graphs: Option<Vec<GraphText>>,
    /// Recorded bindings of the graph that is printed.
    pub bindings: Vec<BindingText>,
}

impl<'a> Printer<'a> {
    pub fn new(module: Option<&'a Module>, dialect: Dialect) -> Self {
        Printer {
            out: String::new(),
            line: String::new(),
            indent: 0,
            names: Names::new(),
            used: Usage::default(),
            dialect,
            module,
            graph: None,
            unnamed_but_used: FxHashSet::default(),
            frames: Vec::new(),
            metadata: Metadata::default(),
            loops: FxHashMap::default(),
            shared_threads: FxHashSet::default(),
            s_tir: true,
            scalars: FxHashSet::default(),
            graphs: None,
            bindings: Vec::new(),
        }
    }

    /// The text of a fragment of a module.
    pub fn fragment(mut self, print: impl FnOnce(&mut Self)) -> String {
        print(&mut self);
        self.line
    }

    /// The text of a statement on its own.
    pub fn statements(mut self, stmt: &Stmt) -> String {
        self.body(stmt);
        self.out
    }

    /// Appends to the line.
    pub fn push(&mut self, text: &str) {
        self.line.push_str(text);
    }

    /// Appends a literal or any other displayable value.
    pub fn show(&mut self, value: impl std::fmt::Display) {
        literal::push(&mut self.line, format_args!("{value}"));
    }

    /// Appends a string literal.
    pub fn quote(&mut self, text: &str) {
        literal::quote(&mut self.line, text);
    }

    /// Appends `T.` and a name.
    pub fn tir(&mut self, name: &str) {
        self.used.tir = true;
        self.push("T.");
        self.push(name);
    }

    /// Appends `R.` and a name.
    pub fn relax(&mut self, name: &str) {
        self.used.relax = true;
        self.push("R.");
        self.push(name);
    }

    /// Appends `I.` and a name.
    pub fn ir(&mut self, name: &str) {
        self.used.ir = true;
        self.push("I.");
        self.push(name);
    }

    /// Separates the next element of a list from the one before.
    pub fn comma(&mut self) {
        if !self.line.ends_with(['(', '[', '{']) {
            self.push(", ");
        }
    }

    /// Appends the elements, separated.
    pub fn list<T>(&mut self, elements: impl IntoIterator<Item = T>, mut print: impl FnMut(&mut Self, T)) {
        for (i, element) in elements.into_iter().enumerate() {
            if i > 0 {
                self.push(", ");
            }
            print(self, element);
        }
    }

    /// Appends a tuple: `(a, b)`, `(a,)`, `()`.
    pub fn tuple<T>(&mut self, elements: impl IntoIterator<Item = T>, mut print: impl FnMut(&mut Self, T)) {
        let mut count = 0;
        self.push("(");
        self.list(elements, |p, e| {
            count += 1;
            print(p, e);
        });
        self.push(if count == 1 { ",)" } else { ")" });
    }

    /// Returns the text that `print` appends, without adding it to the line.
    pub fn capture(&mut self, print: impl FnOnce(&mut Self)) -> String {
        let line = mem::take(&mut self.line);
        print(self);
        mem::replace(&mut self.line, line)
    }

    /// Finishes the line.
    pub fn end_line(&mut self) {
        let line = mem::take(&mut self.line);
        self.whole_line(&line);
    }

    /// Appends a line before the one being written.
    pub fn whole_line(&mut self, line: &str) {
        write_line(&mut self.out, self.indent, line);
    }

    /// Prints an indented block in a scope of its own; `pass` when it is empty.
    pub fn block(&mut self, print: impl FnOnce(&mut Self)) {
        self.indent += 1;
        self.names.enter();
        let start = self.out.len();
        print(self);
        if self.out.len() == start {
            self.whole_line("pass");
        }
        self.names.leave();
        self.indent -= 1;
    }

    /// Opens a function whose header was printed: its body is one level deeper. Names must be entered before.
    pub fn enter_function(&mut self) {
        let scope = self.names.depth();
        self.frames.push(Frame {
            body: 0,
            preamble: String::new(),
            indent: self.indent + 1,
            scope,
            alias: false,
            signature: None,
        });
    }

    /// Appends the function's declarations so far; later ones are inserted here as well.
    pub fn begin_body(&mut self) {
        if let Some(frame) = self.frames.last_mut() {
            self.out.push_str(&mem::take(&mut frame.preamble));
            frame.body = self.out.len();
        }
    }

    /// Closes the function: inserts the lines that declare things, and an empty line at the end.
    pub fn leave_function(&mut self) {
        if let Some(frame) = self.frames.pop() {
            self.out.insert_str(frame.body, &frame.preamble);
        }
        self.out.push('\n');
    }

    /// Appends the name of a scalar variable, declaring it if undefined.
    pub fn scalar(&mut self, var: &Var) {
        let name = match self.names.get(&Entity::Scalar(var.clone())) {
            Some(name) => name,
            None if self.dialect == Dialect::Relax => self.declare_symbol(var),
            None => self.declare_scalar(var),
        };
        self.push(&name);
    }

    /// Names a scalar variable in the innermost scope.
    pub fn define_scalar(&mut self, var: &Var) -> Rc<str> {
        self.names.define(Entity::Scalar(var.clone()), hint(var.name(), "v"))
    }

    /// Names a symbolic variable of a graph for the whole function: by a `TypeVar` if it occurs in the signature,
    /// otherwise by a first line of the body.
    fn declare_symbol(&mut self, var: &Var) -> Rc<str> {
        let scope = self.frames.last().map_or_else(|| self.names.depth(), |f| f.scope);
        let name = self.names.define_in(scope, Entity::Scalar(var.clone()), hint(var.name(), "v"));
        let in_body = match self.frames.last_mut() {
            None => false,
            Some(Frame { signature: None, .. }) => true,
            Some(Frame { signature: Some(signature), .. }) => {
                signature.symbols.insert(var.clone());
                let is_param = signature.params.contains(var);
                if !is_param {
                    signature.type_vars.push(var.clone());
                }
                is_param
            }
        };
        if in_body {
            let creation = self.capture(|p| p.creation(var.ty()));
            self.preamble_line(&format!("{name} = {creation}"));
        }
        name
    }

    /// Declares an undefined variable of a kernel by a line before the statement.
    pub fn declare_scalar(&mut self, var: &Var) -> Rc<str> {
        let name = self.define_scalar(var);
        if !self.frames.is_empty() {
            let line = self.capture(|p| {
                p.push(&name);
                p.push(" = ");
                p.creation(var.ty());
            });
            self.whole_line(&line);
        }
        name
    }

    /// Appends a line to the first lines of the function's body.
    pub fn preamble_line(&mut self, line: &str) {
        if let Some(frame) = self.frames.last_mut() {
            write_line(&mut frame.preamble, frame.indent, line);
        }
    }

    /// Appends the constructor of a variable of a type: `T.int64()`.
    pub fn creation(&mut self, ty: &PrimType) {
        let text = self.capture(|p| p.prim_type(ty));
        self.push(&text);
        if !text.ends_with(')') {
            self.push("()");
        }
    }
}

/// The name, or another one when it is empty.
pub(super) fn hint<'n>(name: &'n str, otherwise: &'n str) -> &'n str {
    if name.is_empty() { otherwise } else { name }
}

/// Appends an indented line.
pub(super) fn write_line(out: &mut String, indent: usize, line: &str) {
    for _ in 0..indent {
        out.push_str("    ");
    }
    out.push_str(line);
    out.push('\n');
}
