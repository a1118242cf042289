//! Dynamic sizes, and the values that kernels are tuned at.

use hammock_ir::{PrimExpr, prim::Var, tir::PrimFunc};

/// Sizes that a kernel is measured at by default; its plan is the best over all of them.
#[cfg(feature = "native")]
const MEASURED: [i64; 5] = [1, 16, 64, 256, 1024];

/// Values of dynamic sizes to tune for: by name, or for all.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Sizes(Vec<(Option<String>, i64)>);

impl Sizes {
    /// Of `n=128` or, for all sizes, `128`.
    ///
    /// # Errors
    /// If the text has another form.
    pub fn add(&mut self, text: &str) -> Result<(), String> {
        let (name, size) = match text.split_once('=') {
            Some((name, size)) => (Some(name.trim().to_owned()), size),
            None => (None, text),
        };
        let size = size.trim().parse().ok().filter(|size| (1..=1 << 30).contains(size));
        let size = size.ok_or_else(|| "expected a size, or NAME=SIZE, of at least 1".to_owned())?;
        self.0.push((name, size));
        Ok(())
    }

    /// Returns true if no size is set.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Value of a variable: that of its name, otherwise that of all.
    fn of(&self, var: &Var) -> Option<i64> {
        let named = |wanted: Option<&str>| self.0.iter().rev().find(|(name, _)| name.as_deref() == wanted);
        named(Some(var.name().as_str())).or_else(|| named(None)).map(|(_, size)| *size)
    }

    /// Suffix of a kernel's key if its sizes are set: the next power of two of each, or `any`.
    pub fn bucket(&self, func: &PrimFunc) -> String {
        let vars = variables(func);
        if !vars.iter().any(|var| self.of(var).is_some()) {
            return String::new();
        }
        let bucket = |var: &Var| match self.of(var) {
            Some(size) => format!(".{}", size.unsigned_abs().next_power_of_two()),
            None => ".any".to_owned(),
        };
        vars.iter().map(bucket).collect()
    }

    /// Lists of values for the variables of a kernel that it is measured at.
    #[cfg(feature = "native")]
    pub fn measured(&self, func: &PrimFunc) -> Vec<Vec<(Var, i64)>> {
        let vars = variables(func);
        let with = |size: i64| vars.iter().map(|var| (var.clone(), self.of(var).unwrap_or(size))).collect();
        match vars.iter().all(|var| self.of(var).is_some()) {
            true => vec![with(1)],
            false => MEASURED.into_iter().map(with).collect(),
        }
    }
}

/// Returns true if a text has the form of [`Sizes::bucket`]'s.
pub fn is_bucket(text: &str) -> bool {
    let is_power = |size: &str| size.parse().is_ok_and(u64::is_power_of_two);
    text.is_empty()
        || text.strip_prefix('.').is_some_and(|sizes| sizes.split('.').all(|size| size == "any" || is_power(size)))
}

/// The variables that are sizes of a kernel's buffers, in the order of its parameters.
fn variables(func: &PrimFunc) -> Vec<Var> {
    let mut vars: Vec<Var> = Vec::new();
    let sizes = func.params.iter().flat_map(|param| &param.buffer).flat_map(|buffer| &buffer.shape);
    for var in sizes.filter_map(PrimExpr::as_var) {
        if !vars.contains(var) {
            vars.push(var.clone());
        }
    }
    vars
}

#[cfg(test)]
mod tests {
    use super::*;
    use hammock_ir::{
        DType,
        tir::{Buffer, Param, Stmt},
    };

    fn sizes(texts: &[&str]) -> Sizes {
        let mut sizes = Sizes::default();
        texts.iter().for_each(|text| sizes.add(text).unwrap());
        sizes
    }

    #[test]
    fn buckets_are_powers_of_two() {
        let [n, m] = ["n", "m"].map(Var::int64);
        let shape = vec![n.expr(), PrimExpr::int64(3), m.expr(), n.expr()];
        let func = of_buffer(Buffer::new("x", shape, DType::FLOAT32));
        assert_eq!(variables(&func), [n, m]);
        let bucket = |texts: &[&str]| sizes(texts).bucket(&func);
        assert_eq!([bucket(&[]), bucket(&["k=3"])], ["", ""]);
        assert_eq!(bucket(&["n=100"]), ".128.any");
        assert_eq!(bucket(&["100", "m=1"]), ".128.1");
        let all = [".128.any", ".128.1", ""];
        assert!(all.into_iter().all(is_bucket) && ![".100", "128", ".", ".any."].into_iter().any(is_bucket));
        for wrong in ["n=0", "n", "n=", "=-1", "n=x", ""] {
            assert!(Sizes::default().add(wrong).is_err(), "{wrong}");
        }
    }

    fn of_buffer(buffer: Buffer) -> PrimFunc {
        let param = Param { var: buffer.data.clone(), buffer: Some(buffer) };
        PrimFunc {
            params: vec![param],
            ret_ty: None,
            body: Stmt::nop(),
            attrs: Default::default(),
            s_tir: true,
            span: hammock_ir::Span::NONE,
        }
    }
}
