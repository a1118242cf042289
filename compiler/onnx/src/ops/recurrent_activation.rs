//! Activations of recurrent networks.

use crate::node::{self, Node};
use hammock_ir::relax::Operand;

/// Activation with its coefficients, and the clip bound of its input.
#[derive(Clone)]
pub struct Activation {
    kind: &'static Kind,
    alpha: f64,
    beta: f64,
    clip: Option<f64>,
}

/// Kind of activation: lower-case name, and the defaults of the coefficients that it takes.
struct Kind {
    name: &'static str,
    alpha: Option<f64>,
    beta: Option<f64>,
    apply: fn(&mut Node, &Activation, Operand) -> node::Result<Operand>,
}

const fn kind(
    name: &'static str,
    alpha: Option<f64>,
    beta: Option<f64>,
    apply: fn(&mut Node, &Activation, Operand) -> node::Result<Operand>,
) -> Kind {
    Kind { name, alpha, beta, apply }
}

static KINDS: &[Kind] = &[
    kind("affine", Some(1.0), Some(0.0), |n, own, x| {
        let scaled = n.with_scalar("multiply", &x, own.alpha)?;
        n.with_scalar("add", &scaled, own.beta)
    }),
    kind("elu", Some(1.0), None, |n, own, x| n.exponential(x, [own.alpha, 1.0, 1.0])),
    kind("hardsigmoid", Some(0.2), Some(0.5), |n, own, x| n.hard_sigmoid(&x, own.alpha, own.beta)),
    kind("leakyrelu", Some(0.01), None, |n, own, x| n.call_with("nn.leakyrelu", [x], &[("alpha", own.alpha.into())])),
    kind("relu", None, None, |n, _, x| n.call("nn.relu", [x])),
    kind("scaledtanh", Some(1.0), Some(1.0), |n, own, x| {
        let scaled = n.with_scalar("multiply", &x, own.beta)?;
        let tanh = n.call("tanh", [scaled])?;
        n.with_scalar("multiply", &tanh, own.alpha)
    }),
    kind("sigmoid", None, None, |n, _, x| n.call("sigmoid", [x])),
    kind("softplus", None, None, |n, _, x| n.call("nn.softplus", [x])),
    kind("softsign", None, None, |n, _, x| n.softsign(x)),
    kind("tanh", None, None, |n, _, x| n.call("tanh", [x])),
    kind("thresholdedrelu", Some(1.0), None, |n, own, x| n.thresholded_relu(x, own.alpha)),
];

impl Activation {
    /// Returns the activations of all directions, as the node lists them or by default. Each one that takes
    /// coefficients consumes the next ones of the node's lists.
    pub fn of(n: &Node, defaults: &[&str], directions: usize) -> node::Result<Vec<Activation>> {
        let given = n.attrs.get("activations").map_or(&[][..], |given| &given.strings);
        let mut names: Vec<String> = given.iter().map(|name| String::from_utf8_lossy(name).into_owned()).collect();
        let count = defaults.len() * directions;
        if !names.is_empty() && names.len() != count {
            return n.error(format!("it has {} `activations`, and {} are needed", names.len(), count));
        }
        if names.is_empty() {
            names = defaults.iter().cycle().take(count).map(|name| (*name).to_owned()).collect();
        }
        let clip = n.attrs.float("clip")?;
        if let Some(clip) = clip.filter(|clip| clip.is_nan() || *clip <= 0.0) {
            return n.error(format!("its `clip` is {clip}, and has to be greater than 0"));
        }
        let mut alphas = n.attrs.floats("activation_alpha")?.unwrap_or_default().into_iter();
        let mut betas = n.attrs.floats("activation_beta")?.unwrap_or_default().into_iter();
        let mut all = Vec::new();
        for name in names {
            let Some(kind) = KINDS.iter().find(|kind| kind.name.eq_ignore_ascii_case(&name)) else {
                return n.error(format!("the activation `{}` is not supported", crate::listing::brief(&name)));
            };
            let alpha = kind.alpha.map_or(0.0, |default| alphas.next().unwrap_or(default));
            let beta = kind.beta.map_or(0.0, |default| betas.next().unwrap_or(default));
            all.push(Activation { kind, alpha, beta, clip });
        }
        Ok(all)
    }

    /// Clips the input, then applies the activation.
    pub fn apply(&self, n: &mut Node, x: Operand) -> node::Result<Operand> {
        let x = match self.clip {
            Some(clip) => {
                let dtype = n.dtype(&x)?;
                let bound = |value: f64| Operand::Prim(hammock_ir::PrimExpr::float(value, dtype));
                n.call("clip", [x, bound(-clip), bound(clip)])?
            }
            None => x,
        };
        (self.kind.apply)(n, self, x)
    }
}
